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
//                        Take
//            ┌──────────────────────────────┐
//     Add    ▼      Claim           Park    │
//   ─────▶ lent ─────────▶ claimed ──────▶ parked
//            │              │ │ ▲           │
//            │ PutBack,     │ │ └───────────┘ TakeParked
//            │ SetAside,    │ ▼
//            ▼ Remove       │ gone    Remove
//         as if claimed     ▼
//                           set aside ──▶ claimed    TakeSetAside
//
// "Claimed" means that the pool itself has the handle, on the thread that has
// the Ticket: nobody else can lend, claim, park or remove it meanwhile. Take
// lends at once, to save a turn of the lock: whoever took the handle proves it
// fit, and confirms the loan or ends it, before anyone sees the handle. Until
// then nobody can claim it either.
//
// Invalidate ends all of this at once. A handle that was lent is then "dead":
// kept to answer its owner's Claim. A new handle with the value of a dead one
// is "held back" until that Claim, and parked by it: else the owner of the dead
// handle would give back what is another's. A taker who learns that the handle
// died does the same, in place of the Claim. The next Invalidate ends the wait:
// a program that never gives back what was reset would have more and more held
// back.
#ifndef HIP_STREAM_POOL_SRC_HANDLE_STORE_H_
#define HIP_STREAM_POOL_SRC_HANDLE_STORE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
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

    // If the handle is lent: which of its loans this is. Not 0, and unique.
    uint64_t loan() const { return version_; }

    Ticket() = default;
    // Whether this is for a handle at all.
    explicit operator bool() const { return record_ != nullptr; }

   private:
    friend class HandleStore;
    explicit Ticket(Record* record);

    Handle handle_ = nullptr;
    Kind kind_ = {};
    uint64_t identity_ = 0;
    Record* record_ = nullptr;
    uint64_t version_ = 0;
  };

  enum class ClaimState {
    kClaimed,
    kUnknown,  // the store has never seen it, or it was removed
    kParked,   // it is the pool's: parked, set aside, taken, or claimed
    kDead,     // it had died before its owner claimed it; forgotten now
  };
  struct ClaimResult {
    ClaimState state;
    Ticket ticket;  // when kClaimed
  };

  enum class ParkResult {
    kParked,
    kOverLimit,  // `limit` handles of the kind are parked; the ticket is good
    kForgotten,  // the ticket is no longer good: leave the handle alone
  };

  struct Counts {
    int64_t reused = 0;  // handles that Take lent, for good
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
  // back. `ticket`, if given, is set unless the handle is held back.
  AddResult Add(Handle handle, Kind kind, uint64_t identity,
                Ticket* ticket = nullptr);

  // Forgets the handle, whoever has it: a new one, elsewhere, has its value.
  // False if there was nothing to forget, or it was known to be dead.
  bool Forget(Handle handle);

  // Lends the earliest created of the parked handles of the kind, if any.
  Ticket Take(Kind kind);

  // Whether a handle that Take gave was not forgotten meanwhile. It is the
  // taker's to give away then. Takes no lock.
  bool Confirm(const Ticket& ticket);

  // Parks a handle that Take gave and that nobody has seen, at its old place,
  // whatever the limit.
  void PutBack(const Ticket& ticket);

  // Takes a lent handle back from its owner, who may know which loan it is: if
  // that has ended, whoever has the handle now, the owner's is dead.
  ClaimResult Claim(Handle handle, uint64_t loan = 0);

  // Whether the ticket is still good; one for nothing is not. Takes no lock.
  bool IsGood(const Ticket& ticket) const;

  // Parks the handle of the ticket unless `limit` of its kind are parked.
  ParkResult Park(const Ticket& ticket, int limit);

  // Keeps the handle of the ticket, never to be lent.
  void SetAside(const Ticket& ticket);

  // Forgets the handle of the ticket. False if that had happened already; then
  // the caller must not touch the handle either.
  bool Remove(const Ticket& ticket);

  // Claims everything that is parked, and what is held back, to be removed; or
  // everything that was set aside.
  std::vector<Ticket> TakeParked();
  std::vector<Ticket> TakeSetAside();

  // Forgets all. Returns how many were parked or set aside.
  int Invalidate();

  // Whether the handle is lent, and by that loan.
  bool IsLent(Handle handle, uint64_t loan) const;

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
    // Changes, under the lock, whenever tickets become bad; never used again.
    std::atomic<uint64_t> version{0};
    // If dead or held back: the version when it was lent. Else 0.
    uint64_t awaited = 0;
    std::atomic<bool> confirmed{true};  // if lent; set without the lock
    State state = State::kFree;
  };

  Shelf* FindShelf(Kind kind) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes every earlier ticket for the record bad.
  Ticket Issue(Record& record, State state)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakeTicketsBad(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The record of the ticket, claimed; the ticket ends with this. Null if it is
  // not good; then nothing waits for its holder any more.
  Record* Redeem(const Ticket& ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of a loan that ends otherwise than by a Claim.
  void EndLoan(const Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The owner of the dead, or held back, handle has been answered.
  void EndWait(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PutOnShelf(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Free(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  absl::flat_hash_map<Handle, Record*> by_handle_ ABSL_GUARDED_BY(mutex_);
  std::deque<Record> records_ ABSL_GUARDED_BY(mutex_);
  std::vector<Record*> free_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Shelf>> shelves_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_version_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_created_ ABSL_GUARDED_BY(mutex_) = 0;
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_HANDLE_STORE_H_
