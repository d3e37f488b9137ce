// SPDX-License-Identifier: Apache-2.0
//
// HIP's calls on stream captures and on the graphs that they make. The modes
// and the statuses of a capture are numbered as CUDA's.
#include "hip/hip_runtime_api.h"
#include "streams.h"

using hip_over_cuda::cudaGraph_t;
using hip_over_cuda::cudaGraphNode_t;
using hip_over_cuda::CudaRuntime;
using hip_over_cuda::cudaStream_t;
using hip_over_cuda::WithCuda;
using hip_over_cuda::WithStream;

extern "C" {

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  int exchanged = static_cast<int>(*mode);
  const hipError_t error = WithCuda([&](const CudaRuntime& cuda) {
    return cuda.cudaThreadExchangeStreamCaptureMode(&exchanged);
  });
  *mode = static_cast<hipStreamCaptureMode>(exchanged);
  return error;
}

hipError_t hipStreamBeginCapture(hipStream_t stream,
                                 hipStreamCaptureMode mode) {
  return WithStream(stream, [=](const CudaRuntime& cuda, cudaStream_t found) {
    return cuda.cudaStreamBeginCapture(found, static_cast<int>(mode));
  });
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return WithStream(stream, [=](const CudaRuntime& cuda, cudaStream_t found) {
    return cuda.cudaStreamEndCapture(found,
                                     reinterpret_cast<cudaGraph_t*>(graph));
  });
}

hipError_t hipStreamIsCapturing(hipStream_t stream,
                                hipStreamCaptureStatus* status) {
  return WithStream(stream, [=](const CudaRuntime& cuda, cudaStream_t found) {
    int read = 0;
    const int error = cuda.cudaStreamIsCapturing(found, &read);
    *status = static_cast<hipStreamCaptureStatus>(read);
    return error;
  });
}

hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes,
                            size_t* count) {
  return WithCuda([=](const CudaRuntime& cuda) {
    return cuda.cudaGraphGetNodes(reinterpret_cast<cudaGraph_t>(graph),
                                  reinterpret_cast<cudaGraphNode_t*>(nodes),
                                  count);
  });
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  return WithCuda([=](const CudaRuntime& cuda) {
    return cuda.cudaGraphDestroy(reinterpret_cast<cudaGraph_t>(graph));
  });
}

}  // extern "C"
