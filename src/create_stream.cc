// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/create_stream.h"

#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "devices.h"
#include "hip_scope.h"
#include "hip_version.h"
#include "lease.h"
#include "max_parked.h"
#include "pooled_event.h"
#include "process_lifetime.h"
#include "stream_calls.h"

namespace hip_stream_pool {
namespace {

#if HIP_STREAM_POOL_HAS_STREAM_GET_DEVICE
absl::Status CheckForeignDevice(int, hipStream_t) { return absl::OkStatus(); }
#else
// HIP before 5.6 does not tell the device of a stream, but refuses to record an
// event on a stream of another device.
absl::Status CheckForeignDevice(int device_ordinal, hipStream_t stream) {
  HipScope hip(device_ordinal);
  HipResult result = hip.entered();
  if (result.ok()) result = CheckDevice(hip, stream, device_ordinal).result();
  PooledEvent event;
  if (result.ok()) result = event.RecordOnAny(hip, stream);
  const bool is_another_devices =
      result.error == hipErrorInvalidHandle &&
      absl::string_view(result.call) == "hipEventRecord";
  result = hip.Close(result);
  return is_another_devices ? AnotherDevicesStream(device_ordinal, result.call)
                            : ToStatus(result, device_ordinal);
}
#endif

// `lease` is 0 if the caller does not know it.
absl::Status Destroy(int device_ordinal, hipStream_t stream, uint64_t lease) {
  Devices* devices = nullptr;
  absl::Status found = GetDevicesWith(device_ordinal, &devices);
  if (!found.ok()) return found;
  DeviceStreams& device = *devices->streams[device_ordinal];
  if (std::optional<absl::Status> destroyed =
          device.Destroy(stream, MaxParked(), lease)) {
    return *std::move(destroyed);
  }
  if (DeviceThatHas(stream)) return AnotherDevicesStream(device_ordinal);
  absl::Status ours = CheckForeignDevice(device_ordinal, stream);
  if (!ours.ok()) return ours;
  return device.DestroyForeign(stream);
}

}  // namespace

absl::StatusOr<hipStream_t> AcquireStream(const StreamKey& key,
                                          uint64_t* lease) {
  DeviceStreams* device = nullptr;
  absl::Status found = GetStreamsFor(key, &device);
  if (!found.ok()) return found;
  return device->Create(key, lease);
}

bool IsLeased(int device_ordinal, hipStream_t stream, uint64_t lease) {
  return KnownDevices()->streams[device_ordinal]->IsLeased(stream, lease);
}

absl::Status ReturnStream(int device_ordinal, hipStream_t stream,
                          uint64_t lease) {
  if (!MayCallHip()) return absl::OkStatus();
  absl::Status status = Destroy(device_ordinal, stream, lease);
  // If exit has begun meanwhile, the error says nothing.
  return status.ok() || MayCallHip() ? status : absl::OkStatus();
}

absl::StatusOr<hipStream_t> CreateStream(const StreamKey& key) {
  uint64_t lease = 0;
  return AcquireStream(key, &lease);
}

absl::Status DestroyStream(int device_ordinal, hipStream_t stream) {
  if (IsSpecialStream(stream)) {
    return absl::InvalidArgumentError(
        "DestroyStream: the null, legacy and per-thread streams are HIP's own");
  }
  return ReturnStream(device_ordinal, stream, /*lease=*/0);
}

}  // namespace hip_stream_pool
