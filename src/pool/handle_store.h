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
//            Lease                    Acquire
//           ┌─────────────── kLeased ◀───────────┐
//           │                │                   │
//           │                │ Claim, Undo       │
//    Add    │                ▼      Park,        │
//   ────────┴─────────── kClaimed ── PutBack ─▶ kParked
//                            │ ▲                 │
//     forgotten ◀── Remove ──┘ └──── TakeAny ────┘
//
//   kLeased ── Invalidate ─▶ kInvalidated ── Claim ─▶ forgotten
//
// kClaimed: the pool itself has the handle, on the thread that has the Ticket.
// Nobody else can lease, claim, park or remove it. A lease has an id, which is
// never used again.
//
// Invalidate forgets every handle. One that was leased becomes kInvalidated: it
// is kept to answer its owner's Claim. If HIP gives the same value to a new
// stream before that Claim, the new one is kHeldBack: not leased, but parked by
// the Claim. Else the owner of the old stream would return the new one. The
// next Invalidate ends the wait.
#ifndef HIP_STREAM_POOL_SRC_POOL_HANDLE_STORE_H_
#define HIP_STREAM_POOL_SRC_POOL_HANDLE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "hip_stream_pool/stream_key.h"
#include "pool/counters.h"
#include "pool/mutex.h"

namespace hip_stream_pool {

class HandleStore {
 public:
  using Handle = void*;

 private:
  struct Record;

 public:
  // The right to decide what becomes of a claimed handle. It stays good until
  // it is used, or until the handle is invalidated or a new one has its value.
  class Ticket {
   public:
    Handle handle() const { return handle_; }
    const StreamKey& key() const { return key_; }
    uint64_t identity() const { return identity_; }

    Ticket() = default;
    // Whether this is for a handle at all.
    explicit operator bool() const { return record_ != nullptr; }

   private:
    friend class HandleStore;
    explicit Ticket(Record* record);

    Handle handle_ = nullptr;
    StreamKey key_;
    uint64_t identity_ = 0;
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
    kOverLimit,  // `limit` handles of the key are parked; the ticket is good
    kForgotten,  // the ticket is no longer good: leave the handle alone
  };

  // Counts hits, parked_total, parked_now and leased_now.
  explicit HandleStore(Counters& counters) : counters_(counters) {}
  HandleStore(const HandleStore&) = delete;
  HandleStore& operator=(const HandleStore&) = delete;

  enum class AddResult {
    kAdded,
    kAddedForStale,  // so; an earlier handle of that value had died unseen
    kHeldBack,       // an invalidated lease has that value: not to be used
  };

  // Enters a new handle, claimed: `ticket` is set unless it is held back.
  // `identity` is what Ticket::identity() gives back.
  AddResult Add(Handle handle, const StreamKey& key, uint64_t identity,
                Ticket* ticket) noexcept;

  // Another store has a new handle of this value: what has it here has died
  // unseen. False if there was nothing, or its lease was invalidated.
  bool DropStale(Handle handle) noexcept;

  // Leases the parked handle of the key that was created earliest, before
  // anyone knows that it is fit. False if none is parked.
  struct Acquired {
    Handle handle;
    uint64_t identity;
    uint64_t lease;
  };
  bool Acquire(const StreamKey& key, Acquired* acquired) noexcept;

  // It is not fit: claims it, and the lease was none. No ticket if it was
  // invalidated meanwhile.
  Ticket Undo(const Acquired& acquired) noexcept;

  // Claims the earliest created of the handles that are parked or held back, of
  // any key; only what was created before the place `before`.
  Ticket TakeAny(uint64_t before) noexcept;

  // The place that the next handle will have in the order of creation.
  uint64_t next_created() const noexcept;

  // Leases the handle of the ticket. Returns the lease's id; 0 if the ticket is
  // no longer good. `is_hit`: the handle had been parked.
  uint64_t Lease(const Ticket& ticket, bool is_hit) noexcept;

  // Parks a handle that had been parked, whatever the limit.
  void PutBack(const Ticket& ticket) noexcept;

  // Takes a leased handle back from its owner. `lease` is 0 if the owner does
  // not know its id. If that lease has ended, whoever has the handle now, it
  // was invalidated.
  ClaimResult Claim(Handle handle, uint64_t lease = 0) noexcept;

  // Parks the handle of the ticket unless `limit` of its key are parked.
  ParkResult Park(const Ticket& ticket, int limit) noexcept;

  // Forgets the handle of the ticket. False if that had happened already; then
  // the caller must not touch the handle either.
  bool Remove(const Ticket& ticket) noexcept;

  // Forgets all. Returns how many were parked.
  int Invalidate() noexcept;

  bool IsLeased(Handle handle, uint64_t lease) const noexcept;

  // Whether the store has the handle, and not of an invalidated lease alone.
  bool Has(Handle handle) const noexcept;
  int ParkedOf(const StreamKey& key) const noexcept;

 private:
  enum class State {
    kFree,
    kLeased,
    kClaimed,
    kParked,
    kInvalidated,
    kHeldBack,
  };

  // The parked handles of one key: a heap, with the earliest created in front.
  struct FreeList {
    StreamKey key;
    std::vector<Record*> parked;
  };

  // A record is never freed, so that an old ticket can be recognised: its
  // version is not the record's.
  struct Record {
    Handle handle;
    FreeList* free_list;
    uint64_t identity;
    uint64_t created;  // place in the order of creation
    // Changes whenever tickets become bad; never used again. The lease's id.
    uint64_t version = 0;
    // The id of the invalidated lease of this value, whose owner is to come.
    uint64_t awaited = 0;
    State state = State::kFree;

    static bool IsLater(const Record* a, const Record* b) {
      return a->created > b->created;
    }
  };

  // nullptr if the lease has ended.
  Record* FindLeased(Handle handle, uint64_t lease) const HSP_REQUIRES(mutex_);
  FreeList* FindFreeList(const StreamKey& key) const HSP_REQUIRES(mutex_);
  Record* NewRecord(Handle handle, const StreamKey& key) HSP_REQUIRES(mutex_);
  // Makes every earlier ticket for the record bad.
  Ticket Issue(Record& record, State state) HSP_REQUIRES(mutex_);
  // The record of the ticket; the ticket ends with this. nullptr if it is not
  // good.
  Record* Redeem(const Ticket& ticket) HSP_REQUIRES(mutex_);
  Record* TakeFrom(FreeList& list) HSP_REQUIRES(mutex_);
  Ticket ClaimLeased(Record& record) HSP_REQUIRES(mutex_);
  // The owner of the invalidated lease has been answered.
  void EndWait(Record& record) HSP_REQUIRES(mutex_);
  void PutOnFreeList(Record& record) HSP_REQUIRES(mutex_);
  void Free(Record& record) HSP_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::unordered_map<Handle, Record*> by_handle_ HSP_GUARDED_BY(mutex_);
  std::deque<Record> records_ HSP_GUARDED_BY(mutex_);
  std::vector<Record*> unused_ HSP_GUARDED_BY(mutex_);
  // A device has six keys at most: two flags, three priorities.
  mutable std::deque<FreeList> free_lists_ HSP_GUARDED_BY(mutex_);
  int held_back_ HSP_GUARDED_BY(mutex_) = 0;
  uint64_t last_version_ HSP_GUARDED_BY(mutex_) = 0;
  uint64_t next_created_ HSP_GUARDED_BY(mutex_) = 1;

  Counters& counters_;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_POOL_HANDLE_STORE_H_
