// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include <utility>

namespace hip_over_cuda {
namespace {

thread_local hipError_t last_error = hipSuccess;

}  // namespace

// Both number most of their errors alike, by intention; that is no reason to
// take one for the other.
hipError_t FromCuda(cudaError_t error) {
  switch (error) {
    case 0:  // cudaSuccess
      return hipSuccess;
    case 1:  // cudaErrorInvalidValue
      return hipErrorInvalidValue;
    case 2:  // cudaErrorMemoryAllocation
      return hipErrorOutOfMemory;
    case 3:  // cudaErrorInitializationError
      return hipErrorNotInitialized;
    case 4:  // cudaErrorCudartUnloading
      return hipErrorDeinitialized;
    case 9:  // cudaErrorInvalidConfiguration
      return hipErrorInvalidConfiguration;
    case 17:  // cudaErrorInvalidDevicePointer
      return hipErrorInvalidDevicePointer;
    case 21:  // cudaErrorInvalidMemcpyDirection
      return hipErrorInvalidMemcpyDirection;
    case 35:  // cudaErrorInsufficientDriver
      return hipErrorInsufficientDriver;
    case 53:  // cudaErrorPriorLaunchFailure
      return hipErrorPriorLaunchFailure;
    case 98:  // cudaErrorInvalidDeviceFunction
      return hipErrorInvalidDeviceFunction;
    case 100:  // cudaErrorNoDevice
      return hipErrorNoDevice;
    case 101:  // cudaErrorInvalidDevice
      return hipErrorInvalidDevice;
    case 200:  // cudaErrorInvalidKernelImage
      return hipErrorInvalidImage;
    case 201:  // cudaErrorDeviceUninitialized
      return hipErrorInvalidContext;
    case 209:  // cudaErrorNoKernelImageForDevice
      return hipErrorNoBinaryForGpu;
    case 214:  // cudaErrorECCUncorrectable
      return hipErrorECCNotCorrectable;
    case 216:  // cudaErrorDeviceAlreadyInUse
      return hipErrorContextAlreadyInUse;
    case 304:  // cudaErrorOperatingSystem
      return hipErrorOperatingSystem;
    case 400:  // cudaErrorInvalidResourceHandle
      return hipErrorInvalidHandle;
    case 401:  // cudaErrorIllegalState
      return hipErrorIllegalState;
    case 500:  // cudaErrorSymbolNotFound
      return hipErrorNotFound;
    case 600:  // cudaErrorNotReady
      return hipErrorNotReady;
    case 700:  // cudaErrorIllegalAddress
      return hipErrorIllegalAddress;
    case 701:  // cudaErrorLaunchOutOfResources
      return hipErrorLaunchOutOfResources;
    case 702:  // cudaErrorLaunchTimeout
      return hipErrorLaunchTimeOut;
    case 708:  // cudaErrorSetOnActiveProcess
      return hipErrorSetOnActiveProcess;
    case 709:  // cudaErrorContextIsDestroyed
      return hipErrorContextIsDestroyed;
    case 710:  // cudaErrorAssert
      return hipErrorAssert;
    case 719:  // cudaErrorLaunchFailure
      return hipErrorLaunchFailure;
    case 801:  // cudaErrorNotSupported
      return hipErrorNotSupported;
    case 900:  // cudaErrorStreamCaptureUnsupported
      return hipErrorStreamCaptureUnsupported;
    case 901:  // cudaErrorStreamCaptureInvalidated
      return hipErrorStreamCaptureInvalidated;
    case 902:  // cudaErrorStreamCaptureMerge
      return hipErrorStreamCaptureMerge;
    case 903:  // cudaErrorStreamCaptureUnmatched
      return hipErrorStreamCaptureUnmatched;
    case 904:  // cudaErrorStreamCaptureUnjoined
      return hipErrorStreamCaptureUnjoined;
    case 905:  // cudaErrorStreamCaptureIsolation
      return hipErrorStreamCaptureIsolation;
    case 906:  // cudaErrorStreamCaptureImplicit
      return hipErrorStreamCaptureImplicit;
    case 907:  // cudaErrorCapturedEvent
      return hipErrorCapturedEvent;
    case 908:  // cudaErrorStreamCaptureWrongThread
      return hipErrorStreamCaptureWrongThread;
    default:
      return hipErrorUnknown;
  }
}

void KeepLastError(hipError_t error) { last_error = error; }

}  // namespace hip_over_cuda

extern "C" {

hipError_t hipGetLastError() {
  return std::exchange(hip_over_cuda::last_error, hipSuccess);
}

hipError_t hipPeekAtLastError() { return hip_over_cuda::last_error; }

// Of what FromCuda and the library itself return.
const char* hipGetErrorName(hipError_t error) {
#define HIP_OVER_CUDA_NAME(name) \
  case name:                     \
    return #name;
  switch (error) {
    HIP_OVER_CUDA_NAME(hipSuccess)
    HIP_OVER_CUDA_NAME(hipErrorInvalidValue)
    HIP_OVER_CUDA_NAME(hipErrorOutOfMemory)
    HIP_OVER_CUDA_NAME(hipErrorNotInitialized)
    HIP_OVER_CUDA_NAME(hipErrorDeinitialized)
    HIP_OVER_CUDA_NAME(hipErrorInvalidConfiguration)
    HIP_OVER_CUDA_NAME(hipErrorInvalidDevicePointer)
    HIP_OVER_CUDA_NAME(hipErrorInvalidMemcpyDirection)
    HIP_OVER_CUDA_NAME(hipErrorInsufficientDriver)
    HIP_OVER_CUDA_NAME(hipErrorPriorLaunchFailure)
    HIP_OVER_CUDA_NAME(hipErrorInvalidDeviceFunction)
    HIP_OVER_CUDA_NAME(hipErrorNoDevice)
    HIP_OVER_CUDA_NAME(hipErrorInvalidDevice)
    HIP_OVER_CUDA_NAME(hipErrorInvalidImage)
    HIP_OVER_CUDA_NAME(hipErrorInvalidContext)
    HIP_OVER_CUDA_NAME(hipErrorNoBinaryForGpu)
    HIP_OVER_CUDA_NAME(hipErrorECCNotCorrectable)
    HIP_OVER_CUDA_NAME(hipErrorContextAlreadyInUse)
    HIP_OVER_CUDA_NAME(hipErrorOperatingSystem)
    HIP_OVER_CUDA_NAME(hipErrorInvalidHandle)
    HIP_OVER_CUDA_NAME(hipErrorIllegalState)
    HIP_OVER_CUDA_NAME(hipErrorNotFound)
    HIP_OVER_CUDA_NAME(hipErrorNotReady)
    HIP_OVER_CUDA_NAME(hipErrorIllegalAddress)
    HIP_OVER_CUDA_NAME(hipErrorLaunchOutOfResources)
    HIP_OVER_CUDA_NAME(hipErrorLaunchTimeOut)
    HIP_OVER_CUDA_NAME(hipErrorSetOnActiveProcess)
    HIP_OVER_CUDA_NAME(hipErrorContextIsDestroyed)
    HIP_OVER_CUDA_NAME(hipErrorAssert)
    HIP_OVER_CUDA_NAME(hipErrorLaunchFailure)
    HIP_OVER_CUDA_NAME(hipErrorNotSupported)
    HIP_OVER_CUDA_NAME(hipErrorStreamCaptureUnsupported)
    HIP_OVER_CUDA_NAME(hipErrorStreamCaptureInvalidated)
    HIP_OVER_CUDA_NAME(hipErrorStreamCaptureMerge)
    HIP_OVER_CUDA_NAME(hipErrorStreamCaptureUnmatched)
    HIP_OVER_CUDA_NAME(hipErrorStreamCaptureUnjoined)
    HIP_OVER_CUDA_NAME(hipErrorStreamCaptureIsolation)
    HIP_OVER_CUDA_NAME(hipErrorStreamCaptureImplicit)
    HIP_OVER_CUDA_NAME(hipErrorCapturedEvent)
    HIP_OVER_CUDA_NAME(hipErrorStreamCaptureWrongThread)
    default:
      return "hipErrorUnknown";
  }
#undef HIP_OVER_CUDA_NAME
}

}  // extern "C"
