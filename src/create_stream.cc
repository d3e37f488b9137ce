// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/create_stream.h"

#include <optional>
#include <utility>

#include "devices.h"
#include "loan.h"
#include "max_parked.h"
#include "process_lifetime.h"
#include "stream_calls.h"

namespace hip_stream_pool {
namespace {

// `loan` is 0 if the caller does not know it.
absl::Status Destroy(int device_ordinal, hipStream_t stream, uint64_t loan) {
  Devices* devices = nullptr;
  absl::Status found = GetDevicesWith(device_ordinal, &devices);
  if (!found.ok()) return found;
  DeviceStreams& device = *devices->streams[device_ordinal];
  if (std::optional<absl::Status> destroyed =
          device.Destroy(stream, MaxParked(), loan)) {
    return *std::move(destroyed);
  }
  if (DeviceThatHas(stream)) return AnotherDevicesStream(device_ordinal);
  return device.DestroyForeign(stream);
}

}  // namespace

absl::StatusOr<hipStream_t> TakeLoan(const StreamKey& key, uint64_t* loan) {
  DeviceStreams* device = nullptr;
  absl::Status found = GetStreamsFor(key, &device);
  if (!found.ok()) return found;
  return device->Create(key, loan);
}

bool IsLent(int device_ordinal, hipStream_t stream, uint64_t loan) {
  return KnownDevices()->streams[device_ordinal]->IsLent(stream, loan);
}

absl::Status EndLoan(int device_ordinal, hipStream_t stream, uint64_t loan) {
  if (!MayCallHip()) return absl::OkStatus();
  absl::Status status = Destroy(device_ordinal, stream, loan);
  // That exit has begun meanwhile is nobody's concern.
  return status.ok() || MayCallHip() ? status : absl::OkStatus();
}

absl::StatusOr<hipStream_t> CreateStream(const StreamKey& key) {
  uint64_t loan = 0;
  return TakeLoan(key, &loan);
}

absl::Status DestroyStream(int device_ordinal, hipStream_t stream) {
  if (IsSpecialStream(stream)) {
    return absl::InvalidArgumentError(
        "DestroyStream: the null, legacy and per-thread streams are HIP's own");
  }
  return EndLoan(device_ordinal, stream, /*loan=*/0);
}

}  // namespace hip_stream_pool
