// SPDX-License-Identifier: Apache-2.0
//
// StreamCacheStats is what the pool has counted: see
// StreamHandleCache::GetStats.
#ifndef HIP_STREAM_POOL_STREAM_CACHE_STATS_H_
#define HIP_STREAM_POOL_STREAM_CACHE_STATS_H_

#include <cstdint>
#include <string>

namespace hip_stream_pool {

struct StreamCacheStats {
  // Counters since the start of the process.
  int64_t hits = 0;             // CreateStream reused a parked stream
  int64_t misses = 0;           // CreateStream created one
  int64_t parked_total = 0;     // times a stream was parked
  int64_t destroyed_total = 0;  // streams destroyed through HIP
  // Streams that DestroyStream did not park, and destroyed if it could, because
  int64_t refused_error = 0;         // a HIP call on them failed
  int64_t refused_capturing = 0;     // the stream was being captured (HIP 5.6
                                     // to 6.0: any capture was active)
  int64_t refused_foreign = 0;       // the pool did not create them
  int64_t refused_over_limit = 0;    // enough of the key were parked
  int64_t refused_key_mismatch = 0;  // they read another key than at creation
  // Streams that the pool had and can't use again: destroyed without the pool,
  // forgotten by Invalidate while parked, or found failing while parked.
  int64_t dropped_stale = 0;
  // Streams whose hipStreamDestroy failed. Never tried again.
  int64_t abandoned = 0;

  // Gauges.
  int64_t parked_now = 0;  // streams that wait for a user
  int64_t leased_now = 0;  // streams that CreateStream gave out

  // The fields by name, on one line.
  std::string ToString() const;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_STREAM_CACHE_STATS_H_
