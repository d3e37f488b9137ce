// SPDX-License-Identifier: Apache-2.0
//
// For tests that call HIP themselves.
#ifndef HIP_STREAM_POOL_TESTS_GPU_HIP_TESTING_H_
#define HIP_STREAM_POOL_TESTS_GPU_HIP_TESTING_H_

#include "gtest/gtest.h"
#include "hip/hip_runtime_api.h"

#define ASSERT_HIP(call) ASSERT_EQ(hipSuccess, call)
#define EXPECT_HIP(call) EXPECT_EQ(hipSuccess, call)

namespace hip_stream_pool {

// From HIP 7.0 on HIP crashes where it answered with an error before: when it
// is asked about a stream that is gone, and when it gets no queue or no memory
// for a new stream.
inline constexpr bool kHipCrashesOnDeadStreams = HIP_VERSION >= 70000000;
inline constexpr bool kHipCrashesWithoutAQueue = HIP_VERSION >= 70000000;

inline int DeviceCount() {
  int count = 0;
  EXPECT_HIP(hipGetDeviceCount(&count));
  return count;
}

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_TESTS_GPU_HIP_TESTING_H_
