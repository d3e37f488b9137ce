// SPDX-License-Identifier: Apache-2.0
//
// The pools of every device of the process. HIP is asked once how many devices
// there are; the pools are never destroyed.
#ifndef HIP_STREAM_POOL_SRC_DEVICES_H_
#define HIP_STREAM_POOL_SRC_DEVICES_H_

#include <deque>
#include <optional>

#include "absl/status/statusor.h"
#include "device_events.h"
#include "device_streams.h"
#include "hip/hip_runtime_api.h"
#include "hip_scope.h"

namespace hip_stream_pool {

struct Devices {
  // By device ordinal, both.
  std::deque<DeviceStreams> streams;
  std::deque<DeviceEvents> events;

  bool Has(int ordinal) const {
    return ordinal >= 0 && static_cast<size_t>(ordinal) < streams.size();
  }
};

// The first call asks HIP.
HipResult GetDevices(Devices** devices);

// nullptr until then. Makes no HIP call.
Devices* KnownDevices();

// GetDevices, and InvalidArgument if there is no such device among them.
absl::StatusOr<Devices*> GetDevicesWith(int ordinal);

// The device whose pool has the stream: one that the pool made, and that is not
// known to be destroyed. Makes no HIP call.
std::optional<int> DeviceThatHas(hipStream_t stream);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_DEVICES_H_
