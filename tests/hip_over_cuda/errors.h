// SPDX-License-Identifier: Apache-2.0
//
// CUDA's errors as HIP's, and the last error of each thread.
#ifndef HIP_STREAM_POOL_TESTS_HIP_OVER_CUDA_ERRORS_H_
#define HIP_STREAM_POOL_TESTS_HIP_OVER_CUDA_ERRORS_H_

#include "cuda_runtime.h"
#include "hip/hip_runtime_api.h"

namespace hip_over_cuda {

// HIP's error for CUDA's; hipErrorUnknown for what HIP doesn't have.
hipError_t FromCuda(cudaError_t error);

// For hipGetLastError.
void KeepLastError(hipError_t error);

// What every call returns with.
inline hipError_t Answer(hipError_t error) {
  if (error != hipSuccess) KeepLastError(error);
  return error;
}
inline hipError_t AnswerOfCuda(cudaError_t error) {
  return error == 0 ? hipSuccess : Answer(FromCuda(error));
}

}  // namespace hip_over_cuda

#endif  // HIP_STREAM_POOL_TESTS_HIP_OVER_CUDA_ERRORS_H_
