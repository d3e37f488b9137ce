// SPDX-License-Identifier: Apache-2.0
//
// Counters has an atomic counter for each field of StreamCacheStats.
#ifndef HIP_STREAM_POOL_SRC_POOL_COUNTERS_H_
#define HIP_STREAM_POOL_SRC_POOL_COUNTERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "hip_stream_pool/stream_cache_stats.h"

namespace hip_stream_pool {

class Counters {
 public:
  using Field = int64_t StreamCacheStats::*;

  void Add(Field field, int64_t more = 1) {
    values_[IndexOf(field)].fetch_add(more, std::memory_order_relaxed);
  }

  // For a field that only the holder of one lock changes: costs no atomic
  // operation.
  void AddUnderLock(Field field, int64_t more) {
    std::atomic<int64_t>& value = values_[IndexOf(field)];
    value.store(value.load(std::memory_order_relaxed) + more,
                std::memory_order_relaxed);
  }

  void AddTo(StreamCacheStats& stats) const {
    auto* fields = reinterpret_cast<int64_t*>(&stats);
    for (size_t i = 0; i < kFields; ++i) {
      fields[i] += values_[i].load(std::memory_order_relaxed);
    }
  }

 private:
  static constexpr size_t kFields = sizeof(StreamCacheStats) / sizeof(int64_t);

  static size_t IndexOf(Field field) {
    const StreamCacheStats stats;
    return &(stats.*field) - reinterpret_cast<const int64_t*>(&stats);
  }

  std::atomic<int64_t> values_[kFields] = {};
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_POOL_COUNTERS_H_
