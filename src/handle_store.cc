// SPDX-License-Identifier: Apache-2.0
#include "handle_store.h"

#include <algorithm>
#include <cstddef>

namespace hip_stream_pool {
namespace {

constexpr int kMostHeldBackUntold = 128;

}  // namespace

HandleStore::Ticket::Ticket(Record* record)
    : handle_(record->handle),
      kind_(record->shelf->kind),
      identity_(record->identity),
      record_(record),
      version_(record->version.load(std::memory_order_relaxed)) {}

HandleStore::AddResult HandleStore::Add(Handle handle, Kind kind,
                                        uint64_t identity, Ticket* ticket) {
  MutexLock lock(mutex_);
  AddResult result = AddResult::kLent;
  uint64_t awaited = 0;
  if (const auto known = by_handle_.find(handle); known != by_handle_.end()) {
    Record& old = *known->second;
    const bool is_lent = old.state == State::kLent;
    awaited =
        is_lent ? old.version.load(std::memory_order_relaxed) : old.awaited;
    // Nobody said that it died. Its owner may have destroyed it elsewhere, as
    // he may all that he is lent; then there would be no end to this.
    if (is_lent && std::count_if(records_.begin(), records_.end(),
                                 [](const Record& record) {
                                   return record.state == State::kHeldBack;
                                 }) >= kMostHeldBackUntold) {
      awaited = 0;
    }
    result = awaited == 0 ? AddResult::kLentForStale : AddResult::kHeldBack;
    Free(old);
  }
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
  record->identity = identity;
  record->created = next_created_++;
  record->confirmed.store(true, std::memory_order_relaxed);
  MakeTicketsBad(*record);  // its version is none of any ticket's, nor 0
  by_handle_.emplace(handle, record);
  if (result == AddResult::kHeldBack) {
    record->awaited = awaited;
    record->state = State::kHeldBack;
  } else {
    record->state = State::kLent;
    ++counts_.lent_now;
    if (ticket != nullptr) *ticket = Ticket(record);
  }
  return result;
}

bool HandleStore::Forget(Handle handle) {
  MutexLock lock(mutex_);
  const auto known = by_handle_.find(handle);
  if (known == by_handle_.end()) return false;
  const bool was_dead = known->second->state == State::kDead;
  Free(*known->second);
  return !was_dead;
}

HandleStore::Ticket HandleStore::Take(Kind kind) {
  MutexLock lock(mutex_);
  Shelf* shelf = FindShelf(kind);
  if (shelf == nullptr || shelf->parked.empty()) return {};
  Record* record = shelf->parked.back();
  shelf->parked.pop_back();
  --counts_.parked_now;
  ++counts_.lent_now;
  ++counts_.reused;
  record->confirmed.store(false, std::memory_order_relaxed);
  return Issue(*record, State::kLent);
}

bool HandleStore::Confirm(const Ticket& ticket) {
  // What is invalidated from here on was lent before.
  if (IsGood(ticket)) {
    ticket.record_->confirmed.store(true, std::memory_order_relaxed);
    return true;
  }
  MutexLock lock(mutex_);
  Redeem(ticket);
  return false;
}

void HandleStore::PutBack(const Ticket& ticket) {
  MutexLock lock(mutex_);
  if (Record* record = Redeem(ticket)) PutOnShelf(*record);
}

HandleStore::ClaimResult HandleStore::Claim(Handle handle, uint64_t loan) {
  MutexLock lock(mutex_);
  const auto known = by_handle_.find(handle);
  if (known == by_handle_.end()) {
    return {loan == 0 ? ClaimState::kUnknown : ClaimState::kDead, {}};
  }
  Record* record = known->second;
  if (loan != 0 && loan != record->awaited &&
      loan != record->version.load(std::memory_order_relaxed)) {
    return {ClaimState::kDead, {}};
  }
  switch (record->state) {
    case State::kLent:
      if (!record->confirmed.load(std::memory_order_relaxed)) {
        return {ClaimState::kParked, {}};
      }
      --counts_.lent_now;
      return {ClaimState::kClaimed, Issue(*record, State::kClaimed)};
    case State::kDead:
    case State::kHeldBack:
      EndWait(*record);
      return {ClaimState::kDead, {}};
    default:
      if (record->awaited == 0) return {ClaimState::kParked, {}};
      EndWait(*record);  // it was held back until TakeParked
      return {ClaimState::kDead, {}};
  }
}

HandleStore::ParkResult HandleStore::Park(const Ticket& ticket, int limit) {
  MutexLock lock(mutex_);
  if (!IsGood(ticket)) {
    Redeem(ticket);
    return ParkResult::kForgotten;
  }
  if (ticket.record_->shelf->parked.size() >= static_cast<size_t>(limit)) {
    return ParkResult::kOverLimit;
  }
  PutOnShelf(*Redeem(ticket));
  ++counts_.parked_total;
  return ParkResult::kParked;
}

void HandleStore::SetAside(const Ticket& ticket) {
  MutexLock lock(mutex_);
  if (Record* record = Redeem(ticket)) record->state = State::kSetAside;
}

bool HandleStore::Remove(const Ticket& ticket) {
  MutexLock lock(mutex_);
  Record* record = Redeem(ticket);
  if (record == nullptr) return false;
  if (record->awaited == 0) {
    Free(*record);
  } else {
    record->state = State::kDead;
  }
  return true;
}

std::vector<HandleStore::Ticket> HandleStore::TakeParked() {
  std::vector<Ticket> taken;
  MutexLock lock(mutex_);
  for (const std::unique_ptr<Shelf>& shelf : shelves_) {
    std::vector<Record*>& parked = shelf->parked;
    counts_.parked_now -= static_cast<int64_t>(parked.size());
    for (; !parked.empty(); parked.pop_back()) {
      taken.push_back(Issue(*parked.back(), State::kClaimed));
    }
  }
  for (Record& record : records_) {
    if (record.state == State::kHeldBack) {
      taken.push_back(Issue(record, State::kClaimed));
    }
  }
  return taken;
}

std::vector<HandleStore::Ticket> HandleStore::TakeSetAside() {
  std::vector<Ticket> taken;
  MutexLock lock(mutex_);
  for (Record& record : records_) {
    if (record.state == State::kSetAside) {
      taken.push_back(Issue(record, State::kClaimed));
    }
  }
  return taken;
}

int HandleStore::Invalidate() {
  MutexLock lock(mutex_);
  int kept = 0;
  for (Record& record : records_) {
    switch (record.state) {
      case State::kFree:
        break;
      case State::kLent:
        EndLoan(record);
        record.awaited = record.version.load(std::memory_order_relaxed);
        MakeTicketsBad(record);
        record.state = State::kDead;
        break;
      case State::kParked:
      case State::kSetAside:
        ++kept;
        [[fallthrough]];
      case State::kClaimed:
      case State::kDead:
      case State::kHeldBack:
        Free(record);
        break;
    }
  }
  return kept;
}

bool HandleStore::IsLent(Handle handle, uint64_t loan) const {
  MutexLock lock(mutex_);
  const auto known = by_handle_.find(handle);
  return known != by_handle_.end() && known->second->state == State::kLent &&
         known->second->version.load(std::memory_order_relaxed) == loan;
}

bool HandleStore::Has(Handle handle) const {
  MutexLock lock(mutex_);
  const auto known = by_handle_.find(handle);
  return known != by_handle_.end() && known->second->state != State::kDead;
}

int HandleStore::ParkedOf(Kind kind) const {
  MutexLock lock(mutex_);
  const Shelf* shelf = FindShelf(kind);
  return shelf == nullptr ? 0 : static_cast<int>(shelf->parked.size());
}

HandleStore::Counts HandleStore::GetCounts() const {
  MutexLock lock(mutex_);
  return counts_;
}

// A device has six kinds at most: two flags, three priorities.
HandleStore::Shelf* HandleStore::FindShelf(Kind kind) const {
  for (const std::unique_ptr<Shelf>& shelf : shelves_) {
    if (shelf->kind == kind) return shelf.get();
  }
  return nullptr;
}

HandleStore::Ticket HandleStore::Issue(Record& record, State state) {
  record.state = state;
  MakeTicketsBad(record);
  return Ticket(&record);
}

void HandleStore::MakeTicketsBad(Record& record) {
  record.version.store(++last_version_, std::memory_order_relaxed);
}

bool HandleStore::IsGood(const Ticket& ticket) const {
  return ticket && ticket.record_->version.load(std::memory_order_relaxed) ==
                       ticket.version_;
}

HandleStore::Record* HandleStore::Redeem(const Ticket& ticket) {
  if (!IsGood(ticket)) {
    const auto known = by_handle_.find(ticket.handle());
    if (known != by_handle_.end() &&
        known->second->awaited == ticket.version_) {
      EndWait(*known->second);
    }
    return nullptr;
  }
  Record* record = ticket.record_;
  if (record->state == State::kLent) EndLoan(*record);
  record->state = State::kClaimed;
  MakeTicketsBad(*record);
  return record;
}

void HandleStore::EndLoan(const Record& record) {
  --counts_.lent_now;
  if (!record.confirmed.load(std::memory_order_relaxed)) --counts_.reused;
}

void HandleStore::EndWait(Record& record) {
  record.awaited = 0;
  if (record.state == State::kHeldBack) {
    PutOnShelf(record);
  } else if (record.state == State::kDead) {
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
  ++counts_.parked_now;
}

void HandleStore::Free(Record& record) {
  if (record.state == State::kParked) {
    std::vector<Record*>& parked = record.shelf->parked;
    parked.erase(std::find(parked.begin(), parked.end(), &record));
    --counts_.parked_now;
  } else if (record.state == State::kLent) {
    EndLoan(record);
  }
  --record.shelf->records;
  by_handle_.erase(record.handle);
  MakeTicketsBad(record);
  record.awaited = 0;
  record.state = State::kFree;
  free_.push_back(&record);
}

}  // namespace hip_stream_pool
