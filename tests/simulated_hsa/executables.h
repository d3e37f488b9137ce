// SPDX-License-Identifier: Apache-2.0
//
// Code objects and their kernels. A kernel that moves memory for the HIP
// runtime itself does its work; any other kernel completes and does nothing.

#ifndef HIP_STREAM_POOL_TESTS_SIMULATED_HSA_EXECUTABLES_H_
#define HIP_STREAM_POOL_TESTS_SIMULATED_HSA_EXECUTABLES_H_

#include <hsa/hsa.h>

namespace simulated_hsa {

void RunKernel(const hsa_kernel_dispatch_packet_t& packet);

}  // namespace simulated_hsa

#endif  // HIP_STREAM_POOL_TESTS_SIMULATED_HSA_EXECUTABLES_H_
