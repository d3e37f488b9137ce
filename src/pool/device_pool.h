// SPDX-License-Identifier: Apache-2.0
//
// DevicePool is the pool of one device: it decides which streams are fit to be
// parked and to be leased, and makes the HIP calls that this takes. A
// HandleStore does the bookkeeping. Thread-safe; no lock is held while HIP
// works. The HipScope that a member takes need not have entered the device.
#ifndef HIP_STREAM_POOL_SRC_POOL_DEVICE_POOL_H_
#define HIP_STREAM_POOL_SRC_POOL_DEVICE_POOL_H_

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>

#include "hip/hip_runtime_api.h"
#include "hip/hip_scope.h"
#include "hip/result.h"
#include "hip_stream_pool/stream_key.h"
#include "pool/counters.h"
#include "pool/event_pool.h"
#include "pool/handle_store.h"

namespace hip_stream_pool {

// A stream that somebody has of the pool.
struct Lease {
  hipStream_t stream = nullptr;
  uint64_t id = 0;  // never used again; 0 if there is no lease
  bool was_parked = false;
};

// What became of a stream that somebody gave back.
enum class Returned {
  kNotOurs,          // this pool has not made it
  kParked,           // the pool has it again
  kParkedAfterWait,  // so, when its work was done
  kParkedBefore,     // the pool had it already
  kInvalidated,      // its lease had ended by Invalidate: nothing was done
  kAnothers,         // so, and its handle may be another stream's by now
  kGone,             // HIP does not know it any more
  kUnfit,            // it can't be parked, and is forgotten: see Unfit
};

// Who destroys a stream that is not fit to be parked.
enum class Unfit { kIsDestroyed, kIsLeftToCaller };

class DevicePool {
 public:
  explicit DevicePool(int ordinal) : ordinal_(ordinal) {}

  int ordinal() const { return ordinal_; }
  EventPool& events() { return events_; }

  // Brings the key's priority into the device's range.
  Result Normalize(HipScope& hip, StreamKey* key);

  // Leases the earliest created of the key's parked streams that is valid and
  // idle. False if none is.
  bool AcquireParked(HipScope& hip, const StreamKey& key, Lease* lease);

  // Creates a stream through HIP.
  struct Created {
    hipStream_t stream;
    uint64_t identity;
  };
  Result CreateNew(HipScope& hip, const StreamKey& key, Created* created);

  // Enters the new stream in the bookkeeping. False if it must not be used now:
  // the owner of an invalidated lease of the same handle is still to come.
  bool Enter(const Created& created, const StreamKey& key,
             HandleStore::Ticket* ticket);
  // Another device has a new stream of this handle: what has it here has died
  // unseen.
  void DropStale(hipStream_t stream);
  // False if the stream was invalidated meanwhile.
  bool LeaseNew(const HandleStore::Ticket& ticket, Lease* lease);
  // Parks a new stream, or destroys it if `wanted` of the key are parked.
  Result ParkNew(HipScope& hip, const HandleStore::Ticket& ticket, int wanted);

  // Takes a stream back from its owner, who may not know the lease's id (0).
  // `result` is what failed, if anything did.
  Returned Return(hipStream_t stream, uint64_t lease, int limit, Unfit unfit,
                  Result* result);

  // Parks, whatever the limit, a stream that nobody has seen.
  void Unlease(const Lease& lease);

  // Destroys a stream that the pool has not made, of this device.
  Result DestroyForeign(HipScope& hip, hipStream_t stream);

  // Destroys what is parked, but no stream that is in a capture: that would end
  // the capture. Returns the first error.
  Result Trim(HipScope& hip);
  void Invalidate();

  bool Has(hipStream_t stream) const { return store_.Has(stream); }
  bool IsLeased(hipStream_t stream, uint64_t lease) const {
    return store_.IsLeased(stream, lease);
  }
  int ParkedOf(const StreamKey& key) const { return store_.ParkedOf(key); }
  void AddStatsTo(StreamCacheStats& stats) const { counters_.AddTo(stats); }

 private:
  class BusyStreams;

  // In HIP the least urgent priority is the larger number; here, least below
  // greatest means that the device has not been asked yet. Aligned so that
  // reading it takes no library of atomic operations.
  struct alignas(2 * sizeof(int)) PriorityRange {
    int least = INT_MIN;
    int greatest = INT_MAX;

    bool is_known() const { return greatest <= least; }
  };

  // Whether a parked stream can be leased now.
  Result CheckParked(HipScope& hip, hipStream_t stream, unsigned int flags,
                     uint64_t identity);
  bool AcquireBusy(HipScope& hip, BusyStreams& busy, Lease* lease);
  // What was parked, and is of no use any more.
  void Drop(HipScope& hip, const HandleStore::Ticket& ticket,
            const Result& checked);
  // Whether a stream that was given back is fit to be parked. Waits for its
  // work; `waited` says whether there was any.
  Result CheckFit(HipScope& hip, const HandleStore::Ticket& ticket,
                  bool* waited);
  // False if the stream must not be parked; then its ticket is still good.
  bool Park(const HandleStore::Ticket& ticket, const Result& checked,
            int limit);
  Result DestroyNow(HipScope& hip, hipStream_t stream);
  // Of a parked stream that was claimed to be destroyed. False if that is in a
  // capture.
  bool DestroyParked(HipScope& hip, const HandleStore::Ticket& ticket,
                     Result* result);
  void Count(Counters::Field field) { counters_.Add(field); }

  const int ordinal_;
  Counters counters_;
  HandleStore store_{counters_};
  EventPool events_;
  std::atomic<PriorityRange> priority_range_{PriorityRange()};
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_POOL_DEVICE_POOL_H_
