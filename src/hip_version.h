// SPDX-License-Identifier: Apache-2.0
//
// Which HIP functions there are to call. HIP_VERSION is
// major * 10,000,000 + minor * 100,000 + patch. A version's header can declare
// a function that its library does not have (hipLaunchHostFunc in 5.2).
#ifndef HIP_STREAM_POOL_SRC_HIP_VERSION_H_
#define HIP_STREAM_POOL_SRC_HIP_VERSION_H_

#include "hip/hip_runtime_api.h"

#define HIP_STREAM_POOL_HAS_LAUNCH_HOST_FUNC (HIP_VERSION >= 50300000)
#define HIP_STREAM_POOL_HAS_STREAM_GET_DEVICE (HIP_VERSION >= 50600000)
#define HIP_STREAM_POOL_HAS_STREAM_GET_ID (HIP_VERSION >= 70100000)
#define HIP_STREAM_POOL_HAS_STREAM_ATTRIBUTES (HIP_VERSION >= 70100000)

// Whether every call with a stream that does not exist says so, instead of
// being undefined behavior.
#define HIP_STREAM_POOL_CALLS_CHECK_STREAMS (HIP_VERSION < 70000000)

#endif  // HIP_STREAM_POOL_SRC_HIP_VERSION_H_
