// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/stream_handle_cache.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "device_streams.h"
#include "hip_scope.h"
#include "process_lifetime.h"
#include "stream_calls.h"

namespace hip_stream_pool {
namespace {

constexpr int kDefaultMaxParkedPerKey = 32;

int MaxParkedFromEnvironment() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here sets variables.
  const char* text = std::getenv("HIP_STREAM_POOL_MAX_PARKED");
  if (text == nullptr) return kDefaultMaxParkedPerKey;
  int limit = 0;
  if (!absl::SimpleAtoi(text, &limit) || limit < 0) {
    std::fprintf(stderr,
                 "hip-stream-pool: HIP_STREAM_POOL_MAX_PARKED is \"%s\", not a "
                 "number from 0 up; using %d\n",
                 text, kDefaultMaxParkedPerKey);
    return kDefaultMaxParkedPerKey;
  }
  return limit;
}

absl::Status CheckFlags(const StreamKey& key) {
  if (key.flags == hipStreamDefault || key.flags == hipStreamNonBlocking) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no such stream flags: ", ToString(key),
                   "; hipStreamDefault (0) and hipStreamNonBlocking (1) are"));
}

}  // namespace

struct StreamHandleCache::Devices {
  std::deque<DeviceStreams> by_ordinal;
};

StreamHandleCache& StreamHandleCache::Get() {
  static StreamHandleCache& cache = *new StreamHandleCache;
  return cache;
}

StreamHandleCache::StreamHandleCache()
    : max_parked_per_key_(MaxParkedFromEnvironment()) {}

absl::StatusOr<StreamHandleCache::Devices*> StreamHandleCache::AllDevices() {
  Devices* known = devices_.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  int count = 0;
  {
    HipCallGuard guard(/*shard=*/0);
    if (!guard.may_call()) return NoHipAnyMore();
    WatchForks();
    HipResult result = Note("hipGetDeviceCount", hipGetDeviceCount(&count));
    if (!result.ok()) return ToStatus(result, "");
  }
  auto devices = std::make_unique<Devices>();
  for (int i = 0; i < count; ++i) {
    devices->by_ordinal.emplace_back(i, devices->by_ordinal);
  }
  WatchProcess();
  // Of threads that get here at once, the first one's table stays.
  if (!devices_.compare_exchange_strong(known, devices.get(),
                                        std::memory_order_acq_rel)) {
    return known;
  }
  return devices.release();
}

absl::StatusOr<DeviceStreams*> StreamHandleCache::Device(int ordinal) {
  absl::StatusOr<Devices*> devices = AllDevices();
  if (!devices.ok()) return devices.status();
  std::deque<DeviceStreams>& by_ordinal = (*devices)->by_ordinal;
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= by_ordinal.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no device ", ordinal, ": HIP has ", by_ordinal.size(),
                     ", counted from 0"));
  }
  return &by_ordinal[ordinal];
}

absl::Status StreamHandleCache::Prewarm(absl::Span<const StreamKey> keys) {
  if (!MayCallHip()) return NoHipAnyMore();
  struct Order {
    DeviceStreams* device;
    StreamKey key;
    int wanted;  // how many of the key, up to here
  };
  std::vector<Order> orders;
  absl::flat_hash_map<StreamKey, int> wanted;
  const int limit = max_parked_per_key_.load(std::memory_order_relaxed);
  for (const StreamKey& key : keys) {
    if (absl::Status flags = CheckFlags(key); !flags.ok()) return flags;
    absl::StatusOr<DeviceStreams*> device = Device(key.device_ordinal);
    if (!device.ok()) return device.status();
    absl::StatusOr<StreamKey> normal = (*device)->Normalize(key);
    if (!normal.ok()) return normal.status();
    orders.push_back({*device, *normal, ++wanted[*normal]});
    if (orders.back().wanted > limit) {
      return absl::InvalidArgumentError(
          absl::StrCat("Prewarm names {", ToString(*normal), "} more than ",
                       limit, " times; SetMaxParkedPerKey allows more"));
    }
  }
  for (const Order& order : orders) {
    absl::Status made = order.device->Prewarm(order.key, order.wanted);
    if (!made.ok()) return made;
  }
  return absl::OkStatus();
}

absl::Status StreamHandleCache::Trim(int device_ordinal) {
  if (!MayCallHip()) return absl::OkStatus();
  absl::StatusOr<DeviceStreams*> device = Device(device_ordinal);
  if (!device.ok()) return device.status();
  return (*device)->Trim();
}

absl::Status StreamHandleCache::TrimAll() {
  if (!MayCallHip()) return absl::OkStatus();
  // Without a stream there is no need to start HIP.
  Devices* devices = devices_.load(std::memory_order_acquire);
  if (devices == nullptr) return absl::OkStatus();
  absl::Status first;
  for (DeviceStreams& device : devices->by_ordinal) first.Update(device.Trim());
  return first;
}

void StreamHandleCache::Invalidate(int device_ordinal) {
  Devices* devices = devices_.load(std::memory_order_acquire);
  if (!MayCallHip() || devices == nullptr || device_ordinal < 0 ||
      static_cast<size_t>(device_ordinal) >= devices->by_ordinal.size()) {
    return;
  }
  devices->by_ordinal[device_ordinal].Invalidate();
}

void StreamHandleCache::SetMaxParkedPerKey(int limit) {
  max_parked_per_key_.store(std::max(limit, 0), std::memory_order_relaxed);
}

StreamCacheStats StreamHandleCache::GetStats() const {
  StreamCacheStats stats;
  // In a forked child another thread's lock may be held for ever.
  if (IsForkedChild()) return stats;
  if (Devices* devices = devices_.load(std::memory_order_acquire)) {
    for (const DeviceStreams& device : devices->by_ordinal) {
      device.AddStatsTo(stats);
    }
  }
  return stats;
}

std::string StreamCacheStats::ToString() const {
  return absl::StrCat(
      "hits=", hits, " misses=", misses, " parked_total=", parked_total,
      " destroyed_total=", destroyed_total, " refused_error=", refused_error,
      " refused_capturing=", refused_capturing,
      " refused_foreign=", refused_foreign,
      " refused_over_limit=", refused_over_limit,
      " refused_key_mismatch=", refused_key_mismatch,
      " dropped_stale=", dropped_stale, " abandoned=", abandoned,
      " parked_now=", parked_now, " leased_now=", leased_now);
}

absl::StatusOr<hipStream_t> CreateStream(const StreamKey& key) {
  if (!MayCallHip()) return NoHipAnyMore();
  if (absl::Status flags = CheckFlags(key); !flags.ok()) return flags;
  absl::StatusOr<DeviceStreams*> device =
      StreamHandleCache::Get().Device(key.device_ordinal);
  if (!device.ok()) return device.status();
  return (*device)->Create(key);
}

absl::Status StreamHandleCache::Destroy(int device_ordinal,
                                        hipStream_t stream) {
  absl::StatusOr<DeviceStreams*> device = Device(device_ordinal);
  if (!device.ok()) return device.status();
  const int limit = max_parked_per_key_.load(std::memory_order_relaxed);
  if (std::optional<absl::Status> destroyed =
          (*device)->Destroy(stream, limit)) {
    return *std::move(destroyed);
  }
  for (DeviceStreams& other : devices_.load()->by_ordinal) {
    if (other.Has(stream)) return AnotherDevicesStream(device_ordinal);
  }
  return (*device)->DestroyForeign(stream);
}

absl::Status DestroyStream(int device_ordinal, hipStream_t stream) {
  if (IsSpecialStream(stream)) {
    return absl::InvalidArgumentError(
        "DestroyStream: the null, legacy and per-thread streams are HIP's own");
  }
  if (!MayCallHip()) return absl::OkStatus();
  absl::Status status =
      StreamHandleCache::Get().Destroy(device_ordinal, stream);
  // That exit has begun meanwhile is nobody's concern.
  return MayCallHip() ? status : absl::OkStatus();
}

}  // namespace hip_stream_pool
