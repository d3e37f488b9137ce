// SPDX-License-Identifier: Apache-2.0
//
// Prints its arguments and the GPU it runs on; ctest looks at the output.

#include "gpu/gpu_choice.h"

#include <cstdio>

int main(int argc, char** argv) {
  hip_stream_pool::ChooseGpu(argv);
  for (int i = 1; i < argc; ++i) std::printf("%s ", argv[i]);
  std::printf("%s\n", hip_stream_pool::DescribeGpu().c_str());
  return 0;
}
