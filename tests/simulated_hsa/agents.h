// SPDX-License-Identifier: Apache-2.0
//
// The agents: the host, and the simulated GPUs.

#ifndef HIP_STREAM_POOL_TESTS_SIMULATED_HSA_AGENTS_H_
#define HIP_STREAM_POOL_TESTS_SIMULATED_HSA_AGENTS_H_

#include <hsa/hsa.h>

namespace simulated_hsa {

hsa_agent_t HostAgent();
hsa_agent_t GpuAgent(int device_ordinal);
bool IsGpu(hsa_agent_t agent);
int DeviceOrdinal(hsa_agent_t gpu);

}  // namespace simulated_hsa

#endif  // HIP_STREAM_POOL_TESTS_SIMULATED_HSA_AGENTS_H_
