// SPDX-License-Identifier: Apache-2.0
//
// What the prototypes in this folder keep: parked streams and nothing else, so
// that it is the ways of locking that are compared. Each is as small as it can
// be. They have no kinds of stream, no list of who has what, no order of
// creation and no limit: what is parked last is lent first.
#ifndef HIP_STREAM_POOL_BENCH_STORES_PARKED_H_
#define HIP_STREAM_POOL_BENCH_STORES_PARKED_H_

#include <atomic>
#include <cstdint>

#include "hip/hip_runtime_api.h"

namespace hip_stream_pool {

// A stream, and what a store needs to link it to another.
struct Parked {
  hipStream_t stream = nullptr;
  uint32_t number = 0;            // from 1
  std::atomic<uint32_t> next{0};  // another's number; 0 for none
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_STORES_PARKED_H_
