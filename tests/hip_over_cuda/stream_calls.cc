// SPDX-License-Identifier: Apache-2.0
//
// HIP's calls on streams.
#include <memory>

#include "errors.h"
#include "hip/hip_runtime_api.h"
#include "streams.h"

namespace hip_over_cuda {
namespace {

struct Callback {
  hipStreamCallback_t function;
  hipStream_t stream;
  void* data;
};

void RunCallback(cudaStream_t, cudaError_t error, void* argument) {
  std::unique_ptr<Callback> callback(static_cast<Callback*>(argument));
  callback->function(callback->stream, FromCuda(error), callback->data);
}

}  // namespace
}  // namespace hip_over_cuda

using hip_over_cuda::Answer;
using hip_over_cuda::cudaEvent_t;
using hip_over_cuda::CudaRuntime;
using hip_over_cuda::cudaStream_t;
using hip_over_cuda::FromCuda;
using hip_over_cuda::WithCuda;
using hip_over_cuda::WithStream;

extern "C" {

hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned int flags,
                                       int priority) {
  if (stream == nullptr) return Answer(hipErrorInvalidValue);
  int device = 0;
  cudaStream_t made = nullptr;
  hipError_t error = WithCuda(
      [&](const CudaRuntime& cuda) { return cuda.cudaGetDevice(&device); });
  if (error != hipSuccess) return error;
  error = WithCuda([&](const CudaRuntime& cuda) {
    return cuda.cudaStreamCreateWithPriority(&made, flags, priority);
  });
  if (error != hipSuccess) return error;
  *stream = hip_over_cuda::AddStream(made, device);
  if (*stream != nullptr) return hipSuccess;
  (void)hip_over_cuda::GetCudaRuntime()->cudaStreamDestroy(made);
  return Answer(hipErrorOutOfMemory);
}

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
  return hipStreamCreateWithPriority(stream, flags, /*priority=*/0);
}

hipError_t hipStreamCreate(hipStream_t* stream) {
  return hipStreamCreateWithPriority(stream, hipStreamDefault, /*priority=*/0);
}

hipError_t hipExtStreamCreateWithCUMask(hipStream_t*, uint32_t,
                                        const uint32_t*) {
  return Answer(hipErrorNotSupported);
}

// The handle is dead before the stream is: the value that CUDA frees can be the
// next stream's at once.
hipError_t hipStreamDestroy(hipStream_t stream) {
  return WithStream(stream, [&](const CudaRuntime& cuda, cudaStream_t found) {
    // Of two threads that destroy one stream, one does.
    if (!hip_over_cuda::IsSpecialStream(stream) &&
        !hip_over_cuda::RemoveStream(stream)) {
      return static_cast<int>(hipErrorContextIsDestroyed);
    }
    return cuda.cudaStreamDestroy(found);
  });
}

hipError_t hipStreamQuery(hipStream_t stream) {
  return WithStream(stream, [](const CudaRuntime& cuda, cudaStream_t found) {
    return cuda.cudaStreamQuery(found);
  });
}

hipError_t hipStreamSynchronize(hipStream_t stream) {
  return WithStream(stream, [](const CudaRuntime& cuda, cudaStream_t found) {
    return cuda.cudaStreamSynchronize(found);
  });
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event,
                              unsigned int flags) {
  return WithStream(stream, [=](const CudaRuntime& cuda, cudaStream_t found) {
    return cuda.cudaStreamWaitEvent(found, reinterpret_cast<cudaEvent_t>(event),
                                    flags);
  });
}

hipError_t hipStreamGetFlags(hipStream_t stream, unsigned int* flags) {
  return WithStream(stream, [=](const CudaRuntime& cuda, cudaStream_t found) {
    return cuda.cudaStreamGetFlags(found, flags);
  });
}

hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
  return WithStream(stream, [=](const CudaRuntime& cuda, cudaStream_t found) {
    return cuda.cudaStreamGetPriority(found, priority);
  });
}

hipError_t hipStreamAddCallback(hipStream_t stream,
                                hipStreamCallback_t callback, void* data,
                                unsigned int flags) {
  if (callback == nullptr) return Answer(hipErrorInvalidValue);
  auto* const added = new hip_over_cuda::Callback{callback, stream, data};
  const hipError_t error =
      WithStream(stream, [=](const CudaRuntime& cuda, cudaStream_t found) {
        return cuda.cudaStreamAddCallback(found, hip_over_cuda::RunCallback,
                                          added, flags);
      });
  if (error != hipSuccess) delete added;
  return error;
}

#if HIP_VERSION >= 50300000
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function,
                             void* data) {
  return WithStream(stream, [=](const CudaRuntime& cuda, cudaStream_t found) {
    return cuda.cudaLaunchHostFunc(found, function, data);
  });
}
#endif

#if HIP_VERSION >= 50600000
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device) {
  return WithStream(stream, [=](const CudaRuntime& cuda, cudaStream_t) {
    if (hip_over_cuda::IsSpecialStream(stream)) {
      return cuda.cudaGetDevice(device);
    }
    *device = hip_over_cuda::FindEntry(stream)->device;
    return 0;
  });
}
#endif

#if HIP_VERSION >= 70100000
hipError_t hipStreamGetId(
    hipStream_t stream,
    unsigned long long* id) {  // NOLINT(google-runtime-int)
  return WithStream(stream, [=](const CudaRuntime& cuda, cudaStream_t found) {
    return cuda.cudaStreamGetId(found, id);
  });
}
#endif

// CUDA has the same numbers and the same union.
#if HIP_VERSION >= 70100000
hipError_t hipStreamGetAttribute(hipStream_t stream, hipStreamAttrID attribute,
                                 hipStreamAttrValue* value) {
  return WithStream(stream, [=](const CudaRuntime& cuda, cudaStream_t found) {
    return cuda.cudaStreamGetAttribute(found, attribute, value);
  });
}

hipError_t hipStreamSetAttribute(hipStream_t stream, hipStreamAttrID attribute,
                                 const hipStreamAttrValue* value) {
  return WithStream(stream, [=](const CudaRuntime& cuda, cudaStream_t found) {
    return cuda.cudaStreamSetAttribute(found, attribute, value);
  });
}
#endif

}  // extern "C"
