// SPDX-License-Identifier: Apache-2.0
#include "pool/handle_store.h"

#include <algorithm>

namespace hip_stream_pool {

HandleStore::Ticket::Ticket(Record* record)
    : handle_(record->handle),
      key_(record->free_list->key),
      identity_(record->identity),
      record_(record),
      version_(record->version) {}

HandleStore::AddResult HandleStore::Add(Handle handle, const StreamKey& key,
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
  Record* record = NewRecord(handle, key);
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

bool HandleStore::Acquire(const StreamKey& key, Acquired* acquired) noexcept {
  MutexLock lock(mutex_);
  FreeList* list = FindFreeList(key);
  if (list == nullptr || list->parked.empty()) return false;
  Record& record = *TakeFrom(*list);
  record.state = State::kLeased;
  record.version = ++last_version_;
  counters_.AddUnderLock(&StreamCacheStats::leased_now, 1);
  counters_.AddUnderLock(&StreamCacheStats::hits, 1);
  *acquired = {record.handle, record.identity, record.version};
  return true;
}

HandleStore::Ticket HandleStore::Undo(const Acquired& acquired) noexcept {
  MutexLock lock(mutex_);
  counters_.AddUnderLock(&StreamCacheStats::hits, -1);
  Record* record = FindLeased(acquired.handle, acquired.lease);
  return record == nullptr ? Ticket() : ClaimLeased(*record);
}

HandleStore::Ticket HandleStore::TakeAny(uint64_t before) noexcept {
  MutexLock lock(mutex_);
  Record* earliest = nullptr;
  const auto consider = [&](Record* record) {
    if (record->created >= before) return;
    before = record->created;
    earliest = record;
  };
  for (const FreeList& list : free_lists_) {
    if (!list.parked.empty()) consider(list.parked.front());
  }
  if (held_back_ > 0) {
    for (Record& record : records_) {
      if (record.state == State::kHeldBack) consider(&record);
    }
  }
  if (earliest == nullptr) return {};
  if (earliest->state == State::kHeldBack) {
    --held_back_;
  } else {
    TakeFrom(*earliest->free_list);
  }
  return Issue(*earliest, State::kClaimed);
}

uint64_t HandleStore::next_created() const noexcept {
  MutexLock lock(mutex_);
  return next_created_;
}

uint64_t HandleStore::Lease(const Ticket& ticket, bool is_hit) noexcept {
  MutexLock lock(mutex_);
  Record* record = Redeem(ticket);
  if (record == nullptr) return 0;
  record->state = State::kLeased;
  counters_.AddUnderLock(&StreamCacheStats::leased_now, 1);
  if (is_hit) counters_.AddUnderLock(&StreamCacheStats::hits, 1);
  return record->version;
}

void HandleStore::PutBack(const Ticket& ticket) noexcept {
  MutexLock lock(mutex_);
  Record* record = Redeem(ticket);
  if (record == nullptr) return;
  if (record->awaited == 0) {
    PutOnFreeList(*record);
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
    return {ClaimState::kClaimed, ClaimLeased(record)};
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
  if (ticket.record_->free_list->parked.size() >= static_cast<size_t>(limit)) {
    return ParkResult::kOverLimit;
  }
  PutOnFreeList(*Redeem(ticket));
  counters_.AddUnderLock(&StreamCacheStats::parked_total, 1);
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
  for (FreeList& list : free_lists_) {
    parked += static_cast<int>(list.parked.size());
    for (Record* record : list.parked) record->state = State::kClaimed;
    list.parked.clear();
  }
  counters_.AddUnderLock(&StreamCacheStats::parked_now, -parked);
  for (Record& record : records_) {
    if (record.state == State::kLeased) {
      counters_.AddUnderLock(&StreamCacheStats::leased_now, -1);
      record.awaited = record.version;
      Issue(record, State::kInvalidated);
    } else if (record.state != State::kFree) {
      Free(record);
    }
  }
  return parked;
}

bool HandleStore::IsLeased(Handle handle, uint64_t lease) const noexcept {
  MutexLock lock(mutex_);
  return FindLeased(handle, lease) != nullptr;
}

bool HandleStore::Has(Handle handle) const noexcept {
  MutexLock lock(mutex_);
  const auto known = by_handle_.find(handle);
  return known != by_handle_.end() &&
         known->second->state != State::kInvalidated;
}

int HandleStore::ParkedOf(const StreamKey& key) const noexcept {
  MutexLock lock(mutex_);
  const FreeList* list = FindFreeList(key);
  return list == nullptr ? 0 : static_cast<int>(list->parked.size());
}

HandleStore::Record* HandleStore::FindLeased(Handle handle,
                                             uint64_t lease) const {
  const auto known = by_handle_.find(handle);
  if (known == by_handle_.end()) return nullptr;
  Record* record = known->second;
  const bool is_leased =
      record->state == State::kLeased && record->version == lease;
  return is_leased ? record : nullptr;
}

HandleStore::FreeList* HandleStore::FindFreeList(const StreamKey& key) const {
  for (FreeList& list : free_lists_) {
    if (list.key == key) return &list;
  }
  return nullptr;
}

HandleStore::Record* HandleStore::NewRecord(Handle handle,
                                            const StreamKey& key) {
  if (unused_.empty()) unused_.push_back(&records_.emplace_back());
  Record* record = unused_.back();
  unused_.pop_back();
  record->handle = handle;
  record->free_list = FindFreeList(key);
  if (record->free_list == nullptr) {
    record->free_list = &free_lists_.emplace_back(FreeList{key, {}});
  }
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

HandleStore::Ticket HandleStore::ClaimLeased(Record& record) {
  counters_.AddUnderLock(&StreamCacheStats::leased_now, -1);
  return Issue(record, State::kClaimed);
}

HandleStore::Record* HandleStore::TakeFrom(FreeList& list) {
  std::pop_heap(list.parked.begin(), list.parked.end(), Record::IsLater);
  Record* record = list.parked.back();
  list.parked.pop_back();
  counters_.AddUnderLock(&StreamCacheStats::parked_now, -1);
  return record;
}

void HandleStore::EndWait(Record& record) {
  record.awaited = 0;
  if (record.state == State::kHeldBack) {
    --held_back_;
    PutOnFreeList(record);
  } else if (record.state == State::kInvalidated) {
    Free(record);
  }
}

void HandleStore::PutOnFreeList(Record& record) {
  record.state = State::kParked;
  std::vector<Record*>& parked = record.free_list->parked;
  parked.push_back(&record);
  std::push_heap(parked.begin(), parked.end(), Record::IsLater);
  counters_.AddUnderLock(&StreamCacheStats::parked_now, 1);
}

void HandleStore::Free(Record& record) {
  if (record.state == State::kParked) {
    std::vector<Record*>& parked = record.free_list->parked;
    parked.erase(std::find(parked.begin(), parked.end(), &record));
    std::make_heap(parked.begin(), parked.end(), Record::IsLater);
    counters_.AddUnderLock(&StreamCacheStats::parked_now, -1);
  } else if (record.state == State::kLeased) {
    counters_.AddUnderLock(&StreamCacheStats::leased_now, -1);
  } else if (record.state == State::kHeldBack) {
    --held_back_;
  }
  by_handle_.erase(record.handle);
  record.awaited = 0;
  Issue(record, State::kFree);
  unused_.push_back(&record);
}

}  // namespace hip_stream_pool
