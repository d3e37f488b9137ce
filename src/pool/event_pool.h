// SPDX-License-Identifier: Apache-2.0
//
// EventPool is the pool of one device's HIP events, without timing. An event
// needs no check and no wait between two users: a record replaces the one
// before, and a wait that is enqueued already keeps to the record before. HIP
// keeps events when a device is reset, and so does the pool. Thread-safe; no
// lock is held while HIP works.
#ifndef HIP_STREAM_POOL_SRC_POOL_EVENT_POOL_H_
#define HIP_STREAM_POOL_SRC_POOL_EVENT_POOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hip/hip_runtime_api.h"
#include "hip/hip_scope.h"
#include "pool/mutex.h"

namespace hip_stream_pool {

class EventPool {
 public:
  // A parked event, else a new one, for the caller alone. `hip` is of this
  // device, here and below.
  Result Acquire(HipScope& hip, hipEvent_t* event);

  // Parks the event for the next user. (One that failed a HIP call is destroyed
  // instead; one that HIP may still write to is neither.)
  void Return(hipEvent_t event) noexcept;

  // Destroys what is parked. Returns the first error.
  Result Trim(HipScope& hip);

  size_t parked() const;

  // For after hipDeviceReset: begins a new epoch. What was recorded in the one
  // before is void. Makes no HIP call.
  void Invalidate() { ++epoch_; }
  uint64_t epoch() const { return epoch_; }

 private:
  mutable Mutex mutex_;
  std::vector<hipEvent_t> parked_ HSP_GUARDED_BY(mutex_);
  std::atomic<uint64_t> epoch_{0};
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_POOL_EVENT_POOL_H_
