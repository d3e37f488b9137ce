// SPDX-License-Identifier: Apache-2.0
//
// Whether a test or benchmark runs on a real GPU or on the simulated one.
//
// HIP_STREAM_POOL_GPU=real|simulated|auto in the environment chooses; auto,
// or nothing, is real where there is an AMD GPU that this user can use, or
// where HIP is the library in ../hip_over_cuda.

#ifndef HIP_STREAM_POOL_TESTS_GPU_GPU_CHOICE_H_
#define HIP_STREAM_POOL_TESTS_GPU_GPU_CHOICE_H_

#include <string>

namespace hip_stream_pool {

// To be called first thing in main, before any HIP call. For the simulated
// GPU, executes the program again with its library in front of
// LD_LIBRARY_PATH, unless that has happened; the arguments and the rest of the
// environment stay. Writes to stderr and exits with 2 if the choice cannot be
// understood or followed.
void ChooseGpu(char** argv);

// One line: "real: gfx942 x8, HIP 6.4.43484" (behind HIP over CUDA, " over CUDA
// 13.0"), or "simulated: gfx90a x2, HIP
// 5.2.21153 (2 devices, copy 0 us, ...)", the last part from the simulation's
// Describe. Calls HIP.
std::string DescribeGpu();

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_TESTS_GPU_GPU_CHOICE_H_
