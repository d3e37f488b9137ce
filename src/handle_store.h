// SPDX-License-Identifier: Apache-2.0
//
// HandleStore does the bookkeeping of one device's handles: which the pool
// made, who has each, and which are parked, in the order of creation. It makes
// no HIP call and does not know what a handle is. The caller decides whether a
// handle is fit to be parked or leased, and tells the store.
//
// Thread-safe. No member calls out while it holds the lock. Every member is
// noexcept: if the bookkeeping finds no memory, the process ends, and no stream
// is lost.
//
// The states of a handle, and the only ways from one to another:
//
//            Lease                 Take, TakeAny
//            ┌──────────────┐     ┌─────────────┐
//     Add    ▼     Claim    │     ▼    Park,    │
//   ─────▶ leased ────────▶ claimed   PutBack ▶ parked
//            │                 │
//            │ Invalidate      └──▶ gone    Remove
//            ▼
//        invalidated ──▶ gone    Claim
//
// "Claimed": the pool itself has the handle, on the thread that has the Ticket.
// Nobody else can lease, claim, park or remove it. A lease has an id, which is
// never used again.
//
// Invalidate forgets every handle. One that was leased becomes "invalidated":
// it is kept to answer its owner's Claim. If HIP gives the same value to a new
// stream before that Claim, the new one is "held back": not leased, but parked
// by the Claim. Else the owner of the old stream would return the new one. The
// next Invalidate ends the wait.
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

    // Its place in the order of creation; from 1 on.
    uint64_t created() const { return created_; }

    Ticket() = default;
    // Whether this is for a handle at all.
    explicit operator bool() const { return record_ != nullptr; }

   private:
    friend class HandleStore;
    explicit Ticket(Record* record);

    Handle handle_ = nullptr;
    Kind kind_ = {};
    uint64_t identity_ = 0;
    uint64_t created_ = 0;
    Record* record_ = nullptr;
    uint64_t version_ = 0;
  };

  enum class ClaimState {
    kClaimed,
    kUnknown,      // the store has never seen it, or it was removed
    kParked,       // it is the pool's: parked or claimed
    kInvalidated,  // the lease had ended by Invalidate; forgotten now
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
    int64_t reused = 0;  // times that Lease leased a handle
    int64_t parked_total = 0;
    int64_t parked_now = 0;
    int64_t leased_now = 0;
  };

  HandleStore() = default;
  HandleStore(const HandleStore&) = delete;
  HandleStore& operator=(const HandleStore&) = delete;

  enum class AddResult {
    kAdded,
    kAddedForStale,  // so; an earlier handle of that value had died unseen
    kHeldBack,       // an invalidated lease has that value: not to be used
  };

  // Enters a new handle, claimed: `ticket` is set unless it is held back.
  // `identity` is what Ticket::identity() gives back.
  AddResult Add(Handle handle, Kind kind, uint64_t identity,
                Ticket* ticket) noexcept;

  // Another store has a new handle of this value: what has it here has died
  // unseen. False if there was nothing, or its lease was invalidated.
  bool DropStale(Handle handle) noexcept;

  // Claims the earliest created of the parked handles of the kind that were
  // created after the place `after`; none if there is no such handle.
  Ticket Take(Kind kind, uint64_t after = 0) noexcept;

  // Likewise, of every kind, and of those held back too; only what was created
  // before the place `before`.
  Ticket TakeAny(uint64_t after, uint64_t before) noexcept;

  // The place that the next handle will have in the order of creation.
  uint64_t next_created() const noexcept;

  // Leases the handle of the ticket. Returns the lease's id; 0 if the ticket is
  // no longer good. `is_reuse`: the handle had been parked.
  uint64_t Lease(const Ticket& ticket, bool is_reuse) noexcept;

  // Parks a handle that Take gave, at its old place, whatever the limit.
  void PutBack(const Ticket& ticket) noexcept;

  // Takes a leased handle back from its owner. `lease` is 0 if the owner does
  // not know its id. If that lease has ended, whoever has the handle now, it
  // was invalidated.
  ClaimResult Claim(Handle handle, uint64_t lease = 0) noexcept;

  // Parks the handle of the ticket unless `limit` of its kind are parked.
  ParkResult Park(const Ticket& ticket, int limit) noexcept;

  // Forgets the handle of the ticket. False if that had happened already; then
  // the caller must not touch the handle either.
  bool Remove(const Ticket& ticket) noexcept;

  // Forgets all. Returns how many were parked.
  int Invalidate() noexcept;

  bool IsLeased(Handle handle, uint64_t lease) const noexcept;

  // Whether the store has the handle, and not of an invalidated lease alone.
  bool Has(Handle handle) const noexcept;
  int ParkedOf(Kind kind) const noexcept;

  // Takes no lock. Exact when no other thread is in a call.
  Counts GetCounts() const noexcept;

 private:
  enum class State {
    kFree,
    kLeased,
    kClaimed,
    kParked,
    kInvalidated,
    kHeldBack,
  };

  // The records of one kind. `parked` is sorted by creation, the earliest
  // last, and has room for every record of the kind.
  struct Shelf {
    Kind kind;
    size_t records = 0;
    std::vector<Record*> parked;
  };

  // A record is never freed, so that an old ticket can be recognised: its
  // version is not the record's.
  struct Record {
    Handle handle;
    Shelf* shelf;
    uint64_t identity;
    uint64_t created;  // place in the order of creation
    // Changes whenever tickets become bad; never used again. The lease's id.
    uint64_t version = 0;
    // The id of the invalidated lease of this value, whose owner is to come.
    uint64_t awaited = 0;
    State state = State::kFree;
  };

  // Written under the lock, read without.
  class Counter {
   public:
    void Add(int64_t more) {
      value_.store(value_.load(std::memory_order_relaxed) + more,
                   std::memory_order_relaxed);
    }
    int64_t Get() const { return value_.load(std::memory_order_relaxed); }

   private:
    std::atomic<int64_t> value_{0};
  };

  Shelf* FindShelf(Kind kind) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Record* NewRecord(Handle handle, Kind kind)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes every earlier ticket for the record bad.
  Ticket Issue(Record& record, State state)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The record of the ticket; the ticket ends with this. Null if it is not
  // good.
  Record* Redeem(const Ticket& ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The index of the earliest parked one that was created after `after`; the
  // size of `parked` if there is none.
  static size_t FindParked(const Shelf& shelf, uint64_t after);
  Ticket TakeFrom(Shelf& shelf, size_t index)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The owner of the invalidated lease has been answered.
  void EndWait(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PutOnShelf(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Free(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  absl::flat_hash_map<Handle, Record*> by_handle_ ABSL_GUARDED_BY(mutex_);
  std::deque<Record> records_ ABSL_GUARDED_BY(mutex_);
  std::vector<Record*> free_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Shelf>> shelves_ ABSL_GUARDED_BY(mutex_);
  int held_back_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_version_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_created_ ABSL_GUARDED_BY(mutex_) = 1;

  Counter reused_;
  Counter parked_total_;
  Counter parked_now_;
  Counter leased_now_;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_HANDLE_STORE_H_
