// SPDX-License-Identifier: Apache-2.0
#include "devices.h"

#include <atomic>
#include <memory>

#include "absl/strings/str_cat.h"
#include "hip_scope.h"
#include "process_lifetime.h"

namespace hip_stream_pool {
namespace {

std::atomic<Devices*> all_devices{nullptr};

}  // namespace

HipResult GetDevices(Devices** devices) {
  *devices = KnownDevices();
  if (*devices != nullptr) return {};
  int count = 0;
  {
    HipCallGuard guard(/*shard=*/0);
    if (!guard.may_call()) return kNoHipAnyMore;
    WatchForks();
    HipResult result = Note("hipGetDeviceCount", hipGetDeviceCount(&count));
    if (!result.ok()) return result;
  }
  auto asked = std::make_unique<Devices>();
  for (int i = 0; i < count; ++i) {
    asked->streams.emplace_back(i, asked->streams);
    asked->events.emplace_back();
  }
  WatchProcess();
  // Of threads that get here at once, the first one's devices stay.
  if (all_devices.compare_exchange_strong(*devices, asked.get(),
                                          std::memory_order_acq_rel)) {
    *devices = asked.release();
  }
  return {};
}

Devices* KnownDevices() { return all_devices.load(std::memory_order_acquire); }

absl::StatusOr<Devices*> GetDevicesWith(int ordinal) {
  Devices* devices = nullptr;
  HipResult result = GetDevices(&devices);
  if (!result.ok()) return ToStatus(result, "");
  if (!devices->Has(ordinal)) {
    return absl::InvalidArgumentError(
        absl::StrCat("no device ", ordinal, ": HIP has ",
                     devices->streams.size(), ", counted from 0"));
  }
  return devices;
}

std::optional<int> DeviceThatHas(hipStream_t stream) {
  Devices* devices = KnownDevices();
  if (devices == nullptr) return std::nullopt;
  for (size_t i = 0; i < devices->streams.size(); ++i) {
    if (devices->streams[i].Has(stream)) return static_cast<int>(i);
  }
  return std::nullopt;
}

}  // namespace hip_stream_pool
