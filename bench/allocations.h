// SPDX-License-Identifier: Apache-2.0
//
// Counts heap allocations: of anything in this program, the libraries' too.
#ifndef HIP_STREAM_POOL_BENCH_ALLOCATIONS_H_
#define HIP_STREAM_POOL_BENCH_ALLOCATIONS_H_

#include <cstdint>

namespace hip_stream_pool {

// How often the calling thread has had memory allocated: by malloc and its
// kin, so by operator new too.
int64_t AllocationsOfThisThread();

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_ALLOCATIONS_H_
