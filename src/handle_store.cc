// SPDX-License-Identifier: Apache-2.0
#include "handle_store.h"

#include <algorithm>
#include <cstddef>

namespace hip_stream_pool {

HandleStore::Ticket::Ticket(Record* record)
    : handle_(record->handle),
      kind_(record->shelf->kind),
      identity_(record->identity),
      created_(record->created),
      record_(record),
      version_(record->version) {}

HandleStore::AddResult HandleStore::Add(Handle handle, Kind kind,
                                        uint64_t identity,
                                        Ticket* ticket) noexcept {
  MutexLock lock(mutex_);
  AddResult result = AddResult::kAdded;
  uint64_t awaited = 0;
  if (const auto known = by_handle_.find(handle); known != by_handle_.end()) {
    awaited = known->second->awaited;
    result = awaited == 0 ? AddResult::kAddedForStale : AddResult::kHeldBack;
    Free(*known->second);
  }
  Record* record = NewRecord(handle, kind);
  record->identity = identity;
  record->awaited = awaited;
  if (result == AddResult::kHeldBack) {
    record->state = State::kHeldBack;
    ++held_back_;
  } else {
    *ticket = Issue(*record, State::kClaimed);
  }
  return result;
}

bool HandleStore::DropStale(Handle handle) noexcept {
  MutexLock lock(mutex_);
  const auto known = by_handle_.find(handle);
  if (known == by_handle_.end()) return false;
  Record& record = *known->second;
  if (record.state == State::kInvalidated) return false;
  const uint64_t awaited = record.awaited;
  if (awaited == 0) {
    Free(record);
  } else {
    if (record.state == State::kHeldBack) --held_back_;
    Issue(record, State::kInvalidated);
  }
  return true;
}

HandleStore::Ticket HandleStore::Take(Kind kind, uint64_t after) noexcept {
  MutexLock lock(mutex_);
  Shelf* shelf = FindShelf(kind);
  if (shelf == nullptr) return {};
  const size_t index = FindParked(*shelf, after);
  return index == shelf->parked.size() ? Ticket() : TakeFrom(*shelf, index);
}

HandleStore::Ticket HandleStore::TakeAny(uint64_t after,
                                         uint64_t before) noexcept {
  MutexLock lock(mutex_);
  Record* earliest = nullptr;
  const auto consider = [&](Record* record) {
    if (record->created <= after || record->created >= before) return;
    before = record->created;
    earliest = record;
  };
  for (const std::unique_ptr<Shelf>& shelf : shelves_) {
    const size_t i = FindParked(*shelf, after);
    if (i < shelf->parked.size()) consider(shelf->parked[i]);
  }
  if (held_back_ > 0) {
    for (Record& record : records_) {
      if (record.state == State::kHeldBack) consider(&record);
    }
  }
  if (earliest == nullptr) return {};
  if (earliest->state == State::kHeldBack) {
    --held_back_;
    return Issue(*earliest, State::kClaimed);
  }
  return TakeFrom(*earliest->shelf, FindParked(*earliest->shelf, after));
}

uint64_t HandleStore::next_created() const noexcept {
  MutexLock lock(mutex_);
  return next_created_;
}

uint64_t HandleStore::Lease(const Ticket& ticket, bool is_reuse) noexcept {
  MutexLock lock(mutex_);
  Record* record = Redeem(ticket);
  if (record == nullptr) return 0;
  record->state = State::kLeased;
  leased_now_.Add(1);
  if (is_reuse) reused_.Add(1);
  return record->version;
}

void HandleStore::PutBack(const Ticket& ticket) noexcept {
  MutexLock lock(mutex_);
  Record* record = Redeem(ticket);
  if (record == nullptr) return;
  if (record->awaited == 0) {
    PutOnShelf(*record);
  } else {
    record->state = State::kHeldBack;
    ++held_back_;
  }
}

HandleStore::ClaimResult HandleStore::Claim(Handle handle,
                                            uint64_t lease) noexcept {
  MutexLock lock(mutex_);
  const auto known = by_handle_.find(handle);
  if (known == by_handle_.end()) {
    return {lease == 0 ? ClaimState::kUnknown : ClaimState::kInvalidated, {}};
  }
  Record& record = *known->second;
  if (record.state == State::kLeased) {
    if (lease != 0 && lease != record.version) {
      return {ClaimState::kInvalidated, {}};
    }
    leased_now_.Add(-1);
    return {ClaimState::kClaimed, Issue(record, State::kClaimed)};
  }
  if (record.awaited == 0) {
    return {lease == 0 ? ClaimState::kParked : ClaimState::kInvalidated, {}};
  }
  if (lease == 0 || lease == record.awaited) EndWait(record);
  return {ClaimState::kInvalidated, {}};
}

HandleStore::ParkResult HandleStore::Park(const Ticket& ticket,
                                          int limit) noexcept {
  MutexLock lock(mutex_);
  if (ticket.record_->version != ticket.version_) return ParkResult::kForgotten;
  if (ticket.record_->shelf->parked.size() >= static_cast<size_t>(limit)) {
    return ParkResult::kOverLimit;
  }
  PutOnShelf(*Redeem(ticket));
  parked_total_.Add(1);
  return ParkResult::kParked;
}

bool HandleStore::Remove(const Ticket& ticket) noexcept {
  MutexLock lock(mutex_);
  Record* record = Redeem(ticket);
  if (record == nullptr) return false;
  if (record->awaited == 0) {
    Free(*record);
  } else {
    record->state = State::kInvalidated;
  }
  return true;
}

int HandleStore::Invalidate() noexcept {
  MutexLock lock(mutex_);
  int parked = 0;
  for (Record& record : records_) {
    switch (record.state) {
      case State::kFree:
        break;
      case State::kLeased:
        leased_now_.Add(-1);
        record.awaited = record.version;
        Issue(record, State::kInvalidated);
        break;
      case State::kParked:
        ++parked;
        [[fallthrough]];
      case State::kClaimed:
      case State::kInvalidated:
      case State::kHeldBack:
        Free(record);
        break;
    }
  }
  return parked;
}

bool HandleStore::IsLeased(Handle handle, uint64_t lease) const noexcept {
  MutexLock lock(mutex_);
  const auto known = by_handle_.find(handle);
  return known != by_handle_.end() && known->second->state == State::kLeased &&
         known->second->version == lease;
}

bool HandleStore::Has(Handle handle) const noexcept {
  MutexLock lock(mutex_);
  const auto known = by_handle_.find(handle);
  return known != by_handle_.end() &&
         known->second->state != State::kInvalidated;
}

int HandleStore::ParkedOf(Kind kind) const noexcept {
  MutexLock lock(mutex_);
  const Shelf* shelf = FindShelf(kind);
  return shelf == nullptr ? 0 : static_cast<int>(shelf->parked.size());
}

HandleStore::Counts HandleStore::GetCounts() const noexcept {
  return {reused_.Get(), parked_total_.Get(), parked_now_.Get(),
          leased_now_.Get()};
}

// A device has six kinds at most: two flags, three priorities.
HandleStore::Shelf* HandleStore::FindShelf(Kind kind) const {
  for (const std::unique_ptr<Shelf>& shelf : shelves_) {
    if (shelf->kind == kind) return shelf.get();
  }
  return nullptr;
}

HandleStore::Record* HandleStore::NewRecord(Handle handle, Kind kind) {
  Shelf* shelf = FindShelf(kind);
  if (shelf == nullptr) {
    shelf = shelves_.emplace_back(std::make_unique<Shelf>()).get();
    shelf->kind = kind;
  }
  if (++shelf->records > shelf->parked.capacity()) {
    shelf->parked.reserve(2 * shelf->records);
  }
  if (free_.empty()) free_.push_back(&records_.emplace_back());
  Record* record = free_.back();
  free_.pop_back();
  record->handle = handle;
  record->shelf = shelf;
  record->created = next_created_++;
  by_handle_.emplace(handle, record);
  return record;
}

HandleStore::Ticket HandleStore::Issue(Record& record, State state) {
  record.state = state;
  record.version = ++last_version_;
  return Ticket(&record);
}

HandleStore::Record* HandleStore::Redeem(const Ticket& ticket) {
  Record* record = ticket.record_;
  if (record->version != ticket.version_) return nullptr;
  record->version = ++last_version_;
  return record;
}

size_t HandleStore::FindParked(const Shelf& shelf, uint64_t after) {
  const std::vector<Record*>& parked = shelf.parked;
  if (parked.empty()) return 0;
  if (parked.back()->created > after) return parked.size() - 1;
  const auto end = std::partition_point(
      parked.begin(), parked.end(),
      [after](const Record* record) { return record->created > after; });
  return end == parked.begin() ? parked.size() : end - parked.begin() - 1;
}

HandleStore::Ticket HandleStore::TakeFrom(Shelf& shelf, size_t index) {
  Record* record = shelf.parked[index];
  shelf.parked.erase(shelf.parked.begin() + static_cast<ptrdiff_t>(index));
  parked_now_.Add(-1);
  return Issue(*record, State::kClaimed);
}

void HandleStore::EndWait(Record& record) {
  record.awaited = 0;
  if (record.state == State::kHeldBack) {
    --held_back_;
    PutOnShelf(record);
  } else if (record.state == State::kInvalidated) {
    Free(record);
  }
}

void HandleStore::PutOnShelf(Record& record) {
  record.state = State::kParked;
  std::vector<Record*>& parked = record.shelf->parked;
  parked.insert(std::upper_bound(parked.begin(), parked.end(), &record,
                                 [](const Record* a, const Record* b) {
                                   return a->created > b->created;
                                 }),
                &record);
  parked_now_.Add(1);
}

void HandleStore::Free(Record& record) {
  if (record.state == State::kParked) {
    std::vector<Record*>& parked = record.shelf->parked;
    parked.erase(std::find(parked.begin(), parked.end(), &record));
    parked_now_.Add(-1);
  } else if (record.state == State::kLeased) {
    leased_now_.Add(-1);
  } else if (record.state == State::kHeldBack) {
    --held_back_;
  }
  --record.shelf->records;
  by_handle_.erase(record.handle);
  record.awaited = 0;
  Issue(record, State::kFree);
  free_.push_back(&record);
}

}  // namespace hip_stream_pool
