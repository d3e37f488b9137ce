// SPDX-License-Identifier: Apache-2.0
#include "pool/event_pool.h"

namespace hip_stream_pool {

Result EventPool::Acquire(HipScope& hip, hipEvent_t* event) {
  {
    MutexLock lock(mutex_);
    if (!parked_.empty()) {
      *event = parked_.back();
      parked_.pop_back();
      return {};
    }
  }
  return hip.Call(hip.functions().hipEventCreateWithFlags, event,
                  hipEventDisableTiming);
}

void EventPool::Return(hipEvent_t event) noexcept {
  MutexLock lock(mutex_);
  parked_.push_back(event);
}

Result EventPool::Trim(HipScope& hip) {
  std::vector<hipEvent_t> parked;
  {
    MutexLock lock(mutex_);
    parked.swap(parked_);
  }
  Result first;
  for (hipEvent_t event : parked) {
    first = First(first, hip.Call(hip.functions().hipEventDestroy, event));
  }
  return first;
}

size_t EventPool::parked() const {
  MutexLock lock(mutex_);
  return parked_.size();
}

}  // namespace hip_stream_pool
