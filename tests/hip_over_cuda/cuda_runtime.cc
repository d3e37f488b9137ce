// SPDX-License-Identifier: Apache-2.0
#include "cuda_runtime.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace hip_over_cuda {
namespace {

void* Open() {
  if (const char* path = std::getenv("HIP_OVER_CUDA_LIBRARY")) {
    return dlopen(path, RTLD_NOW);
  }
  void* library = dlopen("libcudart.so.13", RTLD_NOW);
  return library != nullptr ? library : dlopen("libcudart.so.12", RTLD_NOW);
}

template <typename Function>
bool Find(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

const CudaRuntime* OpenCudaRuntime() {
  void* const library = Open();
  auto* const runtime = new CudaRuntime;  // for the rest of the process
  bool complete = library != nullptr;
#define HIP_OVER_CUDA_FIND(name, parameters) \
  complete = complete && Find(library, #name, &runtime->name);
  HIP_OVER_CUDA_FUNCTIONS(HIP_OVER_CUDA_FIND)
#undef HIP_OVER_CUDA_FIND
  if (!complete) {
    std::fprintf(stderr, "HIP over CUDA: %s\n", dlerror());
    delete runtime;
    return nullptr;
  }
  // CUDA 12 has a second one under the first's name.
  if (!Find(library, "cudaGetDeviceProperties_v2",
            &runtime->cudaGetDeviceProperties)) {
    Find(library, "cudaGetDeviceProperties", &runtime->cudaGetDeviceProperties);
  }
  return runtime;
}

}  // namespace hip_over_cuda
