// SPDX-License-Identifier: Apache-2.0
//
// Pool is the pool of parked streams, of all devices: what the public classes
// and the preload library stand on. It speaks Result, and writes no message.
// Thread-safe; no lock is held while HIP works. The process has one
// (process_pool.h).
#ifndef HIP_STREAM_POOL_SRC_POOL_POOL_H_
#define HIP_STREAM_POOL_SRC_POOL_POOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hip/hip_runtime_api.h"
#include "hip/hip_scope.h"
#include "hip/result.h"
#include "hip_stream_pool/stream_cache_stats.h"
#include "hip_stream_pool/stream_key.h"
#include "pool/device_pool.h"

namespace hip_stream_pool {

class Pool {
 public:
  explicit Pool(int max_parked_per_key)
      : max_parked_per_key_(max_parked_per_key) {}
  // Makes no HIP call: what is parked stays, as at exit.
  ~Pool() { delete devices_.load(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Starts HIP, and learns its devices. Done by the first member that needs
  // them. Once is enough; a failure is tried again.
  Result Start();
  // 0 until started.
  int device_count() const {
    const Devices* devices = devices_.load(std::memory_order_acquire);
    return devices == nullptr ? 0 : static_cast<int>(devices->size());
  }
  // Starts the pool, and finds the device. kNoSuchDevice if there is none.
  Result FindDevice(int ordinal, DevicePool** device);
  // Of a started pool, by an ordinal below device_count().
  DevicePool& device(int ordinal) { return *(*devices_.load())[ordinal]; }

  // See CreateStream. Leases a parked stream of the key, else a new one.
  Result Acquire(StreamKey key, Lease* lease);

  // See DestroyStream. `lease` is its id; 0 if it is not known. OK, with
  // nothing done, if Invalidate has ended the lease.
  Result Return(int device_ordinal, hipStream_t stream, uint64_t lease);

  // Takes back a stream of any device, for a caller that destroys through HIP
  // itself what is not parked: see Returned.
  Returned TakeBack(hipStream_t stream, int limit);

  // See StreamHandleCache for the rest. `bad_key` is the key that a failure
  // names.
  Result Prewarm(const StreamKey* keys, size_t count, StreamKey* bad_key);
  Result Trim(int device_ordinal);
  void Invalidate(int device_ordinal);
  void SetMaxParkedPerKey(int limit) { max_parked_per_key_ = limit; }
  int max_parked_per_key() const {
    return max_parked_per_key_.load(std::memory_order_relaxed);
  }
  // Takes no lock and allocates nothing.
  StreamCacheStats GetStats() const;

 private:
  using Devices = std::vector<std::unique_ptr<DevicePool>>;
  struct Order {
    StreamKey key;
    int wanted;  // how many of the key, up to here
  };

  // Creates a stream for the ticket. `may_free`: where memory is short, by
  // destroying what is parked there.
  Result Create(HipScope& hip, DevicePool& device, const StreamKey& key,
                bool may_free, HandleStore::Ticket* ticket);
  Result ReadOrders(const StreamKey* keys, size_t count,
                    std::vector<Order>* orders, StreamKey* bad_key);
  bool AnotherDeviceHas(hipStream_t stream, int device_ordinal);
  // Of a stream that the pool has not made.
  Result ReturnForeign(DevicePool& device, hipStream_t stream);

  std::atomic<Devices*> devices_{nullptr};  // by ordinal
  std::atomic<int> max_parked_per_key_;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_POOL_POOL_H_
