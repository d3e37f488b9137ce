// SPDX-License-Identifier: Apache-2.0
//
// HIP's calls on events, whose handles are CUDA's.
#include "hip/hip_runtime_api.h"
#include "streams.h"

using hip_over_cuda::cudaEvent_t;
using hip_over_cuda::CudaRuntime;
using hip_over_cuda::cudaStream_t;
using hip_over_cuda::WithCuda;
using hip_over_cuda::WithStream;

extern "C" {

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned int flags) {
  // How far a release goes is of AMD alone.
  flags &= hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess;
  return WithCuda([=](const CudaRuntime& cuda) {
    return cuda.cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t*>(event),
                                         flags);
  });
}

hipError_t hipEventCreate(hipEvent_t* event) {
  return hipEventCreateWithFlags(event, hipEventDefault);
}

hipError_t hipEventDestroy(hipEvent_t event) {
  return WithCuda([=](const CudaRuntime& cuda) {
    return cuda.cudaEventDestroy(reinterpret_cast<cudaEvent_t>(event));
  });
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return WithStream(stream, [=](const CudaRuntime& cuda, cudaStream_t found) {
    return cuda.cudaEventRecord(reinterpret_cast<cudaEvent_t>(event), found);
  });
}

hipError_t hipEventQuery(hipEvent_t event) {
  return WithCuda([=](const CudaRuntime& cuda) {
    return cuda.cudaEventQuery(reinterpret_cast<cudaEvent_t>(event));
  });
}

hipError_t hipEventSynchronize(hipEvent_t event) {
  return WithCuda([=](const CudaRuntime& cuda) {
    return cuda.cudaEventSynchronize(reinterpret_cast<cudaEvent_t>(event));
  });
}

}  // extern "C"
