// SPDX-License-Identifier: Apache-2.0
//
// The pools of every device of the process. HIP is asked once how many devices
// there are; the pools are never destroyed.
#ifndef HIP_STREAM_POOL_SRC_DEVICES_H_
#define HIP_STREAM_POOL_SRC_DEVICES_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "device_events.h"
#include "device_streams.h"
#include "hip/hip_runtime_api.h"
#include "hip_result.h"

namespace hip_stream_pool {

struct Devices {
  bool Has(int ordinal) const { return ordinal >= 0 && ordinal < count; }

  // See StreamHandleCache.
  void Invalidate(int ordinal);

  int count = 0;
  // By device ordinal, both.
  AllStreams streams;
  std::vector<std::unique_ptr<DeviceEvents>> events;
};

// The first call asks HIP.
HipResult GetDevices(Devices** devices);

// nullptr until then. Makes no HIP call.
Devices* KnownDevices();

// GetDevices, and InvalidArgument if there is no such device among them.
absl::Status GetDevicesWith(int ordinal, Devices** devices);

// The pool for streams of the key, and InvalidArgument if there can be none.
absl::Status GetStreamsFor(const StreamKey& key, DeviceStreams** streams);

// What was counted on all devices. Takes no lock and allocates nothing.
StreamCacheStats ReadStats();

// The device whose pool made the stream, unless it was invalidated. Makes no
// HIP call.
std::optional<int> DeviceThatHas(hipStream_t stream);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_DEVICES_H_
