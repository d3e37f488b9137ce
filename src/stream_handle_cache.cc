// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/stream_handle_cache.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "devices.h"
#include "hip_scope.h"
#include "max_parked.h"
#include "process_lifetime.h"

namespace hip_stream_pool {
StreamHandleCache& StreamHandleCache::Get() {
  static StreamHandleCache cache;  // which is nothing but a name
  return cache;
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
  const int limit = MaxParked();
  for (const StreamKey& key : keys) {
    DeviceStreams* device = nullptr;
    absl::Status found = GetStreamsFor(key, &device);
    if (!found.ok()) return found;
    absl::StatusOr<StreamKey> normal = device->Normalize(key);
    if (!normal.ok()) return normal.status();
    orders.push_back({device, *normal, ++wanted[*normal]});
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
  Devices* devices = nullptr;
  absl::Status found = GetDevicesWith(device_ordinal, &devices);
  if (!found.ok()) return found;
  HipScope hip(device_ordinal);
  HipResult result = hip.entered();
  if (result.ok()) {
    result = devices->streams[device_ordinal]->Trim(hip);
    HipResult events = devices->events[device_ordinal]->Trim(hip);
    if (result.ok()) result = events;
  }
  return ToStatus(hip.Close(result), device_ordinal);
}

absl::Status StreamHandleCache::TrimAll() {
  // Without a stream there is no need to start HIP.
  Devices* devices = KnownDevices();
  if (devices == nullptr) return absl::OkStatus();
  absl::Status first;
  for (int i = 0; i < devices->count; ++i) first.Update(Trim(i));
  return first;
}

void StreamHandleCache::Invalidate(int device_ordinal) {
  Devices* devices = KnownDevices();
  if (MayCallHip() && devices != nullptr) devices->Invalidate(device_ordinal);
}

void StreamHandleCache::SetMaxParkedPerKey(int limit) {
  SetMaxParked(std::max(limit, 0));
}

StreamCacheStats StreamHandleCache::GetStats() const {
  return IsForkedChild() ? StreamCacheStats() : ReadStats();
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

}  // namespace hip_stream_pool
