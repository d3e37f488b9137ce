// SPDX-License-Identifier: Apache-2.0
//
// What the HIP runtime's own copy and fill kernels do. The runtime uses them
// for hipMemset, for copies within a device and for small ones.

#ifndef HIP_STREAM_POOL_TESTS_SIMULATED_HSA_BLIT_KERNELS_H_
#define HIP_STREAM_POOL_TESTS_SIMULATED_HSA_BLIT_KERNELS_H_

#include <string_view>

namespace simulated_hsa {

// Reads the arguments from a kernarg segment and does the kernel's work.
using KernelFunction = void (*)(const void* arguments);

// The function for the kernel of this symbol, or nullptr. `code_object` is the
// whole code object, which tells the versions of a kernel's arguments apart.
KernelFunction FindBlitKernel(std::string_view symbol,
                              std::string_view code_object);

}  // namespace simulated_hsa

#endif  // HIP_STREAM_POOL_TESTS_SIMULATED_HSA_BLIT_KERNELS_H_
