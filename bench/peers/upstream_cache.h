// SPDX-License-Identifier: Apache-2.0
//
// UpstreamCache models the cache of stream handles proposed for XLA's ROCm
// executor, from the text of openxla/xla pull requests 42952 and 44130 and the
// review of ROCm/xla 869: one mutex around an ordered map from device, flags
// and priority to a vector. A destroy asks whether the stream is idle, reads
// its flags and its priority for the key, and appends it; a create takes the
// last and asks nothing. There is no limit and no list of who has what. Written
// from that description alone.
#ifndef HIP_STREAM_POOL_BENCH_PEERS_UPSTREAM_CACHE_H_
#define HIP_STREAM_POOL_BENCH_PEERS_UPSTREAM_CACHE_H_

#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/stream_key.h"
#include "pool/mutex.h"

namespace hip_stream_pool {

// Thread-safe.
class UpstreamCache {
 public:
  absl::StatusOr<hipStream_t> Create(const StreamKey& key) {
    {
      MutexLock lock(mutex_);
      auto found = idle_.find({key.device_ordinal, key.flags, key.priority});
      if (found != idle_.end() && !found->second.empty()) {
        const hipStream_t stream = found->second.back();
        found->second.pop_back();
        return stream;
      }
    }
    return kRaw.create(key);
  }

  absl::Status Destroy(int device_ordinal, hipStream_t stream) {
    unsigned int flags = 0;
    int priority = 0;
    if (hipStreamQuery(stream) != hipSuccess ||
        hipStreamGetFlags(stream, &flags) != hipSuccess ||
        hipStreamGetPriority(stream, &priority) != hipSuccess) {
      return kRaw.destroy(device_ordinal, stream);
    }
    MutexLock lock(mutex_);
    idle_[{device_ordinal, flags, priority}].push_back(stream);
    return absl::OkStatus();
  }

  // This and the next are the benchmarks', not upstream's.
  int kept() {
    MutexLock lock(mutex_);
    size_t kept = 0;
    for (const auto& [key, streams] : idle_) kept += streams.size();
    return static_cast<int>(kept);
  }

  absl::Status Clear() {
    MutexLock lock(mutex_);
    absl::Status status;
    for (const auto& [key, streams] : idle_) {
      for (hipStream_t stream : streams) {
        status.Update(kRaw.destroy(std::get<0>(key), stream));
      }
    }
    idle_.clear();
    return status;
  }

 private:
  Mutex mutex_;
  std::map<std::tuple<int, unsigned int, int>, std::vector<hipStream_t>> idle_
      HSP_GUARDED_BY(mutex_);
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_PEERS_UPSTREAM_CACHE_H_
