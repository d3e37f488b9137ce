// SPDX-License-Identifier: Apache-2.0
//
// HIP's calls on memory. The kinds of a copy are numbered as CUDA's.
#include "hip/hip_runtime_api.h"
#include "streams.h"

using hip_over_cuda::CudaRuntime;
using hip_over_cuda::cudaStream_t;
using hip_over_cuda::WithCuda;
using hip_over_cuda::WithStream;

extern "C" {

hipError_t hipMalloc(void** memory, size_t size) {
  return WithCuda(
      [=](const CudaRuntime& cuda) { return cuda.cudaMalloc(memory, size); });
}

hipError_t hipFree(void* memory) {
  return WithCuda(
      [=](const CudaRuntime& cuda) { return cuda.cudaFree(memory); });
}

hipError_t hipHostMalloc(void** memory, size_t size, unsigned int flags) {
  // Coherence and NUMA nodes are of AMD alone.
  flags &=
      hipHostMallocPortable | hipHostMallocMapped | hipHostMallocWriteCombined;
  return WithCuda([=](const CudaRuntime& cuda) {
    return cuda.cudaHostAlloc(memory, size, flags);
  });
}

hipError_t hipHostFree(void* memory) {
  return WithCuda(
      [=](const CudaRuntime& cuda) { return cuda.cudaFreeHost(memory); });
}

hipError_t hipMemcpy(void* to, const void* from, size_t size,
                     hipMemcpyKind kind) {
  return WithCuda([=](const CudaRuntime& cuda) {
    return cuda.cudaMemcpy(to, from, size, static_cast<int>(kind));
  });
}

hipError_t hipMemcpyAsync(void* to, const void* from, size_t size,
                          hipMemcpyKind kind, hipStream_t stream) {
  return WithStream(stream, [=](const CudaRuntime& cuda, cudaStream_t found) {
    return cuda.cudaMemcpyAsync(to, from, size, static_cast<int>(kind), found);
  });
}

hipError_t hipMemset(void* memory, int value, size_t size) {
  return WithCuda([=](const CudaRuntime& cuda) {
    return cuda.cudaMemset(memory, value, size);
  });
}

hipError_t hipMemsetAsync(void* memory, int value, size_t size,
                          hipStream_t stream) {
  return WithStream(stream, [=](const CudaRuntime& cuda, cudaStream_t found) {
    return cuda.cudaMemsetAsync(memory, value, size, found);
  });
}

}  // extern "C"
