// SPDX-License-Identifier: Apache-2.0
//
// RawHip is no pool at all: each stream is created and destroyed by HIP, behind
// the hipSetDevice that an executor with several devices makes. What HIP's own
// documentation of the two calls says to do.
#ifndef HIP_STREAM_POOL_BENCH_PEERS_RAW_HIP_H_
#define HIP_STREAM_POOL_BENCH_PEERS_RAW_HIP_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/stream_key.h"

namespace hip_stream_pool {

class RawHip {
 public:
  absl::StatusOr<hipStream_t> Create(const StreamKey& key) {
    return kRaw.create(key);
  }
  absl::Status Destroy(int device_ordinal, hipStream_t stream) {
    return kRaw.destroy(device_ordinal, stream);
  }
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_PEERS_RAW_HIP_H_
