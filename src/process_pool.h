// SPDX-License-Identifier: Apache-2.0
#ifndef HIP_STREAM_POOL_SRC_PROCESS_POOL_H_
#define HIP_STREAM_POOL_SRC_PROCESS_POOL_H_

#include "pool/pool.h"

namespace hip_stream_pool {

// The process's pool. Made by the first call, which makes no HIP call; never
// destroyed. Its limit is what HIP_STREAM_POOL_MAX_PARKED in the environment
// says, or 128. What is no number from 0 up is reported on stderr.
Pool& ProcessPool();

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_PROCESS_POOL_H_
