// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/stream_handle_cache.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "hip/call_guard.h"
#include "process_pool.h"
#include "status.h"

namespace hip_stream_pool {

StreamHandleCache& StreamHandleCache::Get() {
  static StreamHandleCache cache;  // nothing but a name for ProcessPool
  return cache;
}

absl::Status StreamHandleCache::Prewarm(absl::Span<const StreamKey> keys) {
  StreamKey key;
  const Result result = ProcessPool().Prewarm(keys.data(), keys.size(), &key);
  return ToStatus(result, {"Prewarm", key});
}

absl::Status StreamHandleCache::Trim(int device_ordinal) {
  return ToStatus(ProcessPool().Trim(device_ordinal), {"Trim", device_ordinal});
}

absl::Status StreamHandleCache::TrimAll() {
  absl::Status first;
  // Without a stream there is no need to start HIP.
  const int count = ProcessPool().device_count();
  for (int i = 0; i < count; ++i) first.Update(Trim(i));
  return first;
}

void StreamHandleCache::Invalidate(int device_ordinal) {
  ProcessPool().Invalidate(device_ordinal);
}

void StreamHandleCache::SetMaxParkedPerKey(int limit) {
  ProcessPool().SetMaxParkedPerKey(std::max(limit, 0));
}

StreamCacheStats StreamHandleCache::GetStats() const {
  return IsForkedChild() ? StreamCacheStats() : ProcessPool().GetStats();
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
