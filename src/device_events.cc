// SPDX-License-Identifier: Apache-2.0
#include "device_events.h"

namespace hip_stream_pool {

HipResult DeviceEvents::Take(HipScope& hip, hipEvent_t* event) {
  {
    MutexLock lock(mutex_);
    if (!parked_.empty()) {
      *event = parked_.back();
      parked_.pop_back();
      return {};
    }
  }
  return hip.Call("hipEventCreateWithFlags",
                  hipEventCreateWithFlags(event, hipEventDisableTiming));
}

void DeviceEvents::GiveBack(hipEvent_t event) noexcept {
  MutexLock lock(mutex_);
  parked_.push_back(event);
}

HipResult DeviceEvents::Trim(HipScope& hip) {
  std::vector<hipEvent_t> parked;
  {
    MutexLock lock(mutex_);
    parked.swap(parked_);
  }
  HipResult first = {};
  for (hipEvent_t event : parked) {
    HipResult result = DestroyEvent(hip, event);
    if (first.ok()) first = result;
  }
  return first;
}

size_t DeviceEvents::parked() const {
  MutexLock lock(mutex_);
  return parked_.size();
}

HipResult DestroyEvent(HipScope& hip, hipEvent_t event) {
  return hip.Call("hipEventDestroy", hipEventDestroy(event));
}

}  // namespace hip_stream_pool
