// SPDX-License-Identifier: Apache-2.0
#include "devices.h"

#include <atomic>
#include <memory>

#include "absl/strings/str_cat.h"
#include "process_lifetime.h"

namespace hip_stream_pool {
namespace {

std::atomic<Devices*> all_devices{nullptr};

}  // namespace

void Devices::Invalidate(int ordinal) {
  if (!Has(ordinal)) return;
  streams[ordinal]->Invalidate();
  events[ordinal]->Invalidate();
}

HipResult GetDevices(Devices** devices) {
  *devices = KnownDevices();
  if (*devices != nullptr) return {};
  int count = 0;
  int version = 0;
  {
    HipCallGuard guard;
    if (!guard.may_call()) return kNoHipAnyMore;
    WatchForks();
    HipResult result = Note("hipGetDeviceCount", hipGetDeviceCount(&count));
    if (result.ok()) {
      result = Note("hipRuntimeGetVersion", hipRuntimeGetVersion(&version));
    }
    if (!result.ok()) return result;
  }
  auto asked = std::make_unique<Devices>();
  for (; asked->count < count; ++asked->count) {
    asked->streams.push_back(
        std::make_unique<DeviceStreams>(asked->count, asked->streams, version));
    asked->events.push_back(std::make_unique<DeviceEvents>());
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

absl::Status GetDevicesWith(int ordinal, Devices** devices) {
  HipResult result = GetDevices(devices);
  if (!result.ok()) return ToStatus(result);
  if ((*devices)->Has(ordinal)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("no device ", ordinal, ": HIP has ", (*devices)->count,
                   ", counted from 0"));
}

absl::Status GetStreamsFor(const StreamKey& key, DeviceStreams** streams) {
  if (key.flags != hipStreamDefault && key.flags != hipStreamNonBlocking) {
    return absl::InvalidArgumentError(absl::StrCat(
        "flags must be hipStreamDefault (0) or hipStreamNonBlocking (1): ",
        ToString(key)));
  }
  Devices* devices = nullptr;
  absl::Status found = GetDevicesWith(key.device_ordinal, &devices);
  if (found.ok()) *streams = devices->streams[key.device_ordinal].get();
  return found;
}

StreamCacheStats ReadStats() {
  StreamCacheStats stats;
  if (Devices* devices = KnownDevices()) {
    for (const auto& device : devices->streams) device->AddStatsTo(stats);
  }
  return stats;
}

std::optional<int> DeviceThatHas(hipStream_t stream) {
  Devices* devices = KnownDevices();
  if (devices == nullptr) return std::nullopt;
  for (int i = 0; i < devices->count; ++i) {
    if (devices->streams[i]->Has(stream)) return i;
  }
  return std::nullopt;
}

}  // namespace hip_stream_pool
