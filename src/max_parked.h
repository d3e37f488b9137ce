// SPDX-License-Identifier: Apache-2.0
//
// How many streams of one key may be parked, as the environment says it.
#ifndef HIP_STREAM_POOL_SRC_MAX_PARKED_H_
#define HIP_STREAM_POOL_SRC_MAX_PARKED_H_

namespace hip_stream_pool {

// HIP_STREAM_POOL_MAX_PARKED, or 32. What is no number from 0 up is reported on
// stderr.
int MaxParkedFromEnvironment();

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_MAX_PARKED_H_
