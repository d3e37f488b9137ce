// SPDX-License-Identifier: Apache-2.0
//
// As much of the CUDA runtime's C interface as the library uses, declared by
// hand: there are no CUDA headers to build with. Enumerations are ints, as in
// C. Nothing of this differs between CUDA 12 and 13.
#ifndef HIP_STREAM_POOL_TESTS_HIP_OVER_CUDA_CUDA_RUNTIME_H_
#define HIP_STREAM_POOL_TESTS_HIP_OVER_CUDA_CUDA_RUNTIME_H_

#include <cstddef>

struct CUevent_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUstream_st;

namespace hip_over_cuda {

using cudaError_t = int;
using cudaStream_t = CUstream_st*;
using cudaEvent_t = CUevent_st*;
using cudaGraph_t = CUgraph_st*;
using cudaGraphNode_t = CUgraphNode_st*;
using cudaStreamCallback_t = void (*)(cudaStream_t, cudaError_t, void*);
using cudaHostFn_t = void (*)(void*);

inline constexpr int kCudaDevAttrMajor = 75;  // of the compute capability
inline constexpr int kCudaDevAttrMinor = 76;

// Each as FUNCTION(name, parameters).
#define HIP_OVER_CUDA_FUNCTIONS(FUNCTION)                                    \
  FUNCTION(cudaDeviceGetAttribute, (int* value, int attribute, int device))  \
  FUNCTION(cudaDeviceGetStreamPriorityRange, (int* least, int* greatest))    \
  FUNCTION(cudaDeviceReset, ())                                              \
  FUNCTION(cudaDeviceSynchronize, ())                                        \
  FUNCTION(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags))  \
  FUNCTION(cudaEventDestroy, (cudaEvent_t event))                            \
  FUNCTION(cudaEventQuery, (cudaEvent_t event))                              \
  FUNCTION(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream))        \
  FUNCTION(cudaEventSynchronize, (cudaEvent_t event))                        \
  FUNCTION(cudaFree, (void* memory))                                         \
  FUNCTION(cudaFreeHost, (void* memory))                                     \
  FUNCTION(cudaGetDevice, (int* device))                                     \
  FUNCTION(cudaGetDeviceCount, (int* count))                                 \
  FUNCTION(cudaGraphDestroy, (cudaGraph_t graph))                            \
  FUNCTION(cudaGraphGetNodes,                                                \
           (cudaGraph_t graph, cudaGraphNode_t * nodes, size_t * count))     \
  FUNCTION(cudaHostAlloc, (void** memory, size_t size, unsigned flags))      \
  FUNCTION(cudaLaunchHostFunc,                                               \
           (cudaStream_t stream, cudaHostFn_t function, void* data))         \
  FUNCTION(cudaMalloc, (void** memory, size_t size))                         \
  FUNCTION(cudaMemcpy, (void* to, const void* from, size_t size, int kind))  \
  FUNCTION(cudaMemcpyAsync, (void* to, const void* from, size_t size,        \
                             int kind, cudaStream_t stream))                 \
  FUNCTION(cudaMemset, (void* memory, int value, size_t size))               \
  FUNCTION(cudaMemsetAsync,                                                  \
           (void* memory, int value, size_t size, cudaStream_t stream))      \
  FUNCTION(cudaRuntimeGetVersion, (int* version))                            \
  FUNCTION(cudaSetDevice, (int device))                                      \
  FUNCTION(cudaStreamAddCallback,                                            \
           (cudaStream_t stream, cudaStreamCallback_t callback, void* data,  \
            unsigned flags))                                                 \
  FUNCTION(cudaStreamBeginCapture, (cudaStream_t stream, int mode))          \
  FUNCTION(cudaStreamCreateWithPriority,                                     \
           (cudaStream_t * stream, unsigned flags, int priority))            \
  FUNCTION(cudaStreamDestroy, (cudaStream_t stream))                         \
  FUNCTION(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t * graph)) \
  FUNCTION(cudaStreamGetAttribute,                                           \
           (cudaStream_t stream, int attribute, void* value))                \
  FUNCTION(cudaStreamGetFlags, (cudaStream_t stream, unsigned* flags))       \
  FUNCTION(cudaStreamGetId,                                                  \
           (cudaStream_t stream, unsigned long long* id)) /* NOLINT */       \
  FUNCTION(cudaStreamGetPriority, (cudaStream_t stream, int* priority))      \
  FUNCTION(cudaStreamIsCapturing, (cudaStream_t stream, int* status))        \
  FUNCTION(cudaStreamQuery, (cudaStream_t stream))                           \
  FUNCTION(cudaStreamSetAttribute,                                           \
           (cudaStream_t stream, int attribute, const void* value))          \
  FUNCTION(cudaStreamSynchronize, (cudaStream_t stream))                     \
  FUNCTION(cudaStreamWaitEvent,                                              \
           (cudaStream_t stream, cudaEvent_t event, unsigned flags))         \
  FUNCTION(cudaThreadExchangeStreamCaptureMode, (int* mode))

struct CudaRuntime {
#define HIP_OVER_CUDA_MEMBER(name, parameters) \
  cudaError_t(*name) parameters = nullptr;
  HIP_OVER_CUDA_FUNCTIONS(HIP_OVER_CUDA_MEMBER)
#undef HIP_OVER_CUDA_MEMBER

  // Fills a structure that differs between versions, of up to 2 KiB. It begins
  // with the device's name. Can be nullptr.
  cudaError_t (*cudaGetDeviceProperties)(void* properties,
                                         int device) = nullptr;
};

// Opens it. nullptr if there is none, or one that lacks a function; stderr then
// says why.
const CudaRuntime* OpenCudaRuntime();

// What the first call opened.
inline const CudaRuntime* GetCudaRuntime() {
  static const CudaRuntime* const runtime = OpenCudaRuntime();
  return runtime;
}

}  // namespace hip_over_cuda

#endif  // HIP_STREAM_POOL_TESTS_HIP_OVER_CUDA_CUDA_RUNTIME_H_
