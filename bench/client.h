// SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks measure: a client of a stream runtime, which creates all
// its streams when it starts and destroys them all when it ends. It does so
// raw, by HIP's calls, or pooled, by ours.
#ifndef HIP_STREAM_POOL_BENCH_CLIENT_H_
#define HIP_STREAM_POOL_BENCH_CLIENT_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/create_stream.h"
#include "hip_stream_pool/stream_key.h"

namespace hip_stream_pool {

// How a stream is come by and given back.
struct StreamCalls {
  absl::StatusOr<hipStream_t> (*create)(const StreamKey& key);
  absl::Status (*destroy)(int device_ordinal, hipStream_t stream);
};

// hipStreamCreateWithPriority and hipStreamDestroy, each behind the
// hipSetDevice that an executor with several devices has to make.
extern const StreamCalls kRaw;

inline constexpr StreamCalls kPooled = {CreateStream, DestroyStream};

class Client {
 public:
  // `streams` streams of the default kind in even parts over the devices from
  // 0, each device's together.
  Client(int streams, int devices);

  // A stream of each key, in that order.
  explicit Client(std::vector<StreamKey> keys);

  int streams() const { return static_cast<int>(keys_.size()); }
  const StreamKey& key(int i) const { return keys_[i]; }
  hipStream_t stream(int i) const { return streams_[i]; }

  // Each stops at the first error.
  absl::Status CreateAll(const StreamCalls& calls);
  absl::Status DestroyAll(const StreamCalls& calls);
  absl::Status Cycle(const StreamCalls& calls);  // both

 private:
  std::vector<StreamKey> keys_;
  std::vector<hipStream_t> streams_;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_CLIENT_H_
