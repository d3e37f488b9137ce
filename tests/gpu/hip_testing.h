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

inline int DeviceCount() {
  int count = 0;
  EXPECT_HIP(hipGetDeviceCount(&count));
  return count;
}

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_TESTS_GPU_HIP_TESTING_H_
