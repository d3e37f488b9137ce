// SPDX-License-Identifier: Apache-2.0
//
// HandleStore keeps the books of one device's handles: which the pool made, who
// has each, and which are parked, in the order of creation. It makes no HIP
// call and does not know what a handle is; the caller decides whether a handle
// is fit to be parked or lent, and tells the store.
//
// Thread-safe. No member calls out while it holds the lock.
//
// A handle is in one of these states, and moves only along these arrows:
//
//         Add             Claim               Park, PutBack
//   ──────────────▶ lent ───────▶ claimed ──────────────────▶ parked
//                    ▲             │ │ ▲                         │
//                    │ Lend        │ │ │ Take, TakeParked        │
//                    └─────────────┘ │ └─────────────────────────┘
//                                    │ ▲
//                           SetAside ▼ │ TakeSetAside
//                                 set aside         Remove: from claimed only
//
// "Claimed" means that the pool itself has the handle, on the thread that has
// the Ticket: nobody else can lend, claim, park or remove it meanwhile.
//
// Invalidate ends all of this at once. A handle that was lent is then "dead":
// kept to answer its owner's Claim. A new handle with the value of a dead one
// is "held back" until that Claim, and parked by it: else the owner of the dead
// handle would give back what is another's.
#ifndef HIP_STREAM_POOL_SRC_HANDLE_STORE_H_
#define HIP_STREAM_POOL_SRC_HANDLE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "mutex.h"

namespace hip_stream_pool {

class HandleStore {
 public:
  using Handle = void*;

  // Handles of one kind can stand in for each other.
  struct Kind {
    unsigned int flags;
    int priority;
    friend bool operator==(const Kind& a, const Kind& b) {
      return a.flags == b.flags && a.priority == b.priority;
    }
  };

 private:
  struct Record;

 public:
  // The right to decide what becomes of a claimed handle. It stays good until
  // it is used, or until the handle is invalidated or a new one has its value.
  class Ticket {
   public:
    Handle handle() const { return handle_; }
    Kind kind() const { return kind_; }
    uint64_t identity() const { return identity_; }

   private:
    friend class HandleStore;
    explicit Ticket(Record* record);

    Handle handle_;
    Kind kind_;
    uint64_t identity_;
    Record* record_;
    uint64_t version_;
  };

  enum class ClaimState {
    kClaimed,
    kUnknown,  // the store has never seen it, or it was removed
    kParked,   // it is the pool's: parked, set aside, or claimed by another
    kDead,     // it had died before its owner claimed it; forgotten now
  };
  struct ClaimResult {
    ClaimState state;
    std::optional<Ticket> ticket;  // when kClaimed
  };

  enum class ParkResult {
    kParked,
    kOverLimit,  // `limit` handles of the kind are parked; the ticket is good
    kForgotten,  // the ticket is no longer good: leave the handle alone
  };

  struct Counts {
    int64_t reused = 0;  // times that Lend lent a handle
    int64_t parked_total = 0;
    int64_t parked_now = 0;
    int64_t lent_now = 0;
  };

  HandleStore() = default;
  HandleStore(const HandleStore&) = delete;
  HandleStore& operator=(const HandleStore&) = delete;

  enum class AddResult {
    kLent,
    kLentForStale,  // so, and a handle of that value had died unseen
    kHeldBack,      // a handle of that value is lent, and dead: not to be used
  };

  // Enters a new handle, lent. `identity` is what Ticket::identity() gives
  // back.
  AddResult Add(Handle handle, Kind kind, uint64_t identity);

  // Forgets the handle, whoever has it: a new one, elsewhere, has its value.
  // False if there was nothing to forget, or it was known to be dead.
  bool Forget(Handle handle);

  // Claims the earliest created of the parked handles of the kind, if any.
  std::optional<Ticket> Take(Kind kind);

  // Lends a handle that Take gave. False if it was forgotten meanwhile.
  bool Lend(const Ticket& ticket);

  // Parks a handle that Take gave, at its old place.
  void PutBack(const Ticket& ticket);

  // Takes a lent handle back from its owner.
  ClaimResult Claim(Handle handle);

  // Parks the handle of the ticket unless `limit` of its kind are parked.
  ParkResult Park(const Ticket& ticket, int limit);

  // Keeps the handle of the ticket, never to be lent.
  void SetAside(const Ticket& ticket);

  // Forgets the handle of the ticket. False if that had happened already; then
  // the caller must not touch the handle either.
  bool Remove(const Ticket& ticket);

  // Claims everything that is parked, or everything that was set aside.
  std::vector<Ticket> TakeParked();
  std::vector<Ticket> TakeSetAside();

  // Forgets all. Returns how many were parked or set aside.
  int Invalidate();

  // Whether the store has the handle, and not as one that is dead.
  bool Has(Handle handle) const;
  int ParkedOf(Kind kind) const;
  Counts GetCounts() const;

 private:
  enum class State {
    kFree,
    kLent,
    kClaimed,
    kParked,
    kSetAside,
    kDead,
    kHeldBack,
  };

  // The records of one kind. `parked` is sorted by creation, the earliest
  // last, and has room for every record of the kind, so parking never
  // allocates.
  struct Shelf {
    Kind kind;
    size_t records = 0;
    std::vector<Record*> parked;
  };

  // A record is never freed, so a stale ticket can always be recognised: its
  // version is not the record's.
  struct Record {
    Handle handle;
    Shelf* shelf;
    uint64_t identity;
    uint64_t created;  // place in the order of creation
    uint64_t version = 0;
    State state = State::kFree;
  };

  Shelf* FindShelf(Kind kind) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Claims it, and makes every earlier ticket for it bad.
  Ticket Issue(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsGood(const Ticket& ticket) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The record of the ticket, which ends with this. Null if it is not good.
  Record* Redeem(const Ticket& ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PutOnShelf(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Free(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  absl::flat_hash_map<Handle, Record*> by_handle_ ABSL_GUARDED_BY(mutex_);
  std::deque<Record> records_ ABSL_GUARDED_BY(mutex_);
  std::vector<Record*> free_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Shelf>> shelves_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_created_ ABSL_GUARDED_BY(mutex_) = 0;
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_HANDLE_STORE_H_
