// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/create_stream.h"

#include <optional>
#include <utility>

#include "devices.h"
#include "max_parked.h"
#include "process_lifetime.h"
#include "stream_calls.h"

namespace hip_stream_pool {
namespace {

absl::Status Destroy(int device_ordinal, hipStream_t stream) {
  Devices* devices = nullptr;
  absl::Status found = GetDevicesWith(device_ordinal, &devices);
  if (!found.ok()) return found;
  DeviceStreams& device = *devices->streams[device_ordinal];
  if (std::optional<absl::Status> destroyed =
          device.Destroy(stream, MaxParked())) {
    return *std::move(destroyed);
  }
  if (DeviceThatHas(stream)) return AnotherDevicesStream(device_ordinal);
  return device.DestroyForeign(stream);
}

}  // namespace

absl::StatusOr<hipStream_t> CreateStream(const StreamKey& key) {
  DeviceStreams* device = nullptr;
  absl::Status found = GetStreamsFor(key, &device);
  if (!found.ok()) return found;
  return device->Create(key);
}

absl::Status DestroyStream(int device_ordinal, hipStream_t stream) {
  if (IsSpecialStream(stream)) {
    return absl::InvalidArgumentError(
        "DestroyStream: the null, legacy and per-thread streams are HIP's own");
  }
  if (!MayCallHip()) return absl::OkStatus();
  absl::Status status = Destroy(device_ordinal, stream);
  // That exit has begun meanwhile is nobody's concern.
  return status.ok() || MayCallHip() ? status : absl::OkStatus();
}

}  // namespace hip_stream_pool
