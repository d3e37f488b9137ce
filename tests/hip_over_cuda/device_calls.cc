// SPDX-License-Identifier: Apache-2.0
//
// HIP's calls on devices, and what the library says of itself.
#include <algorithm>
#include <cstdio>
#include <string>

#include "errors.h"
#include "hip/hip_runtime_api.h"
#include "streams.h"

using hip_over_cuda::CudaRuntime;
using hip_over_cuda::GetCudaRuntime;
using hip_over_cuda::WithCuda;

extern "C" {

hipError_t hipGetDeviceCount(int* count) {
  *count = 0;
  return WithCuda(
      [=](const CudaRuntime& cuda) { return cuda.cudaGetDeviceCount(count); });
}

hipError_t hipGetDevice(int* device) {
  return WithCuda(
      [=](const CudaRuntime& cuda) { return cuda.cudaGetDevice(device); });
}

hipError_t hipSetDevice(int device) {
  return WithCuda(
      [=](const CudaRuntime& cuda) { return cuda.cudaSetDevice(device); });
}

hipError_t hipDeviceSynchronize() {
  return WithCuda(
      [](const CudaRuntime& cuda) { return cuda.cudaDeviceSynchronize(); });
}

hipError_t hipDeviceReset() {
  return WithCuda([](const CudaRuntime& cuda) {
    int device = 0;
    const int error = cuda.cudaGetDevice(&device);
    if (error != 0) return error;
    hip_over_cuda::RemoveStreamsOf(device);
    return cuda.cudaDeviceReset();
  });
}

hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return WithCuda([=](const CudaRuntime& cuda) {
    return cuda.cudaDeviceGetStreamPriorityRange(least, greatest);
  });
}

// The members that the project reads, and what tells GPUs apart.
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  return WithCuda([=](const CudaRuntime& cuda) {
    *properties = {};
    int error = cuda.cudaDeviceGetAttribute(
        &properties->major, hip_over_cuda::kCudaDevAttrMajor, device);
    if (error == 0) {
      error = cuda.cudaDeviceGetAttribute(
          &properties->minor, hip_over_cuda::kCudaDevAttrMinor, device);
    }
    char cudas[2048] = "";
    if (error == 0 && cuda.cudaGetDeviceProperties != nullptr) {
      error = cuda.cudaGetDeviceProperties(cudas, device);
    }
    const std::string name = cudas[0] != '\0' ? cudas : "NVIDIA";
    std::snprintf(properties->name, sizeof(properties->name), "%s",
                  name.c_str());
    std::snprintf(properties->gcnArchName, sizeof(properties->gcnArchName),
                  "%s", name.c_str());
    return error;
  });
}

// Of the HIP that it is built against; not below 6.2, since no query of a CUDA
// stream waits for the null stream, and a query breaks another thread's capture
// unless the mode is relaxed.
hipError_t hipRuntimeGetVersion(int* version) {
  return WithCuda([=](const CudaRuntime&) {
    *version = std::max(HIP_VERSION, 60200000);
    return 0;
  });
}

__attribute__((visibility("default"))) const char* HipOverCudaDescription() {
  static const std::string* const description = [] {
    int version = 0;
    if (GetCudaRuntime() != nullptr) {
      (void)GetCudaRuntime()->cudaRuntimeGetVersion(&version);
    }
    return new std::string("over CUDA " + std::to_string(version / 1000) + "." +
                           std::to_string(version % 1000 / 10));
  }();
  return description->c_str();
}

}  // extern "C"
