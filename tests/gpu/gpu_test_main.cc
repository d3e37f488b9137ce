// SPDX-License-Identifier: Apache-2.0
//
// main for GoogleTest programs that use a GPU.

#include <cstdio>

#include "gpu/gpu_choice.h"
#include "gtest/gtest.h"

int main(int argc, char** argv) {
  hip_stream_pool::ChooseGpu(argv);
  testing::InitGoogleTest(&argc, argv);
  // Listing tests must work, and be quick, without HIP.
  if (!testing::GTEST_FLAG(list_tests)) {
    std::printf("GPU: %s\n", hip_stream_pool::DescribeGpu().c_str());
    std::fflush(stdout);
  }
  return RUN_ALL_TESTS();
}
