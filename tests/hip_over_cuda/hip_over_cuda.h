// SPDX-License-Identifier: Apache-2.0
//
// HIP over CUDA: the HIP functions that this project, its tests and its
// benchmarks call, over the CUDA runtime of an NVIDIA GPU. For measuring on a
// GPU that is asynchronous for real, where no AMD one is within reach.
//
// It is a library with the name, and the symbols with the versions, of AMD's
// libamdhip64, against which it is built: the same test and benchmark programs
// run with either, as LD_LIBRARY_PATH says. It is built without CUDA, and opens
// libcudart when it is first called: HIP_OVER_CUDA_LIBRARY in the environment,
// or else libcudart.so.13 or .12. Without one, HIP's calls answer
// hipErrorNoDevice.
//
//   pack.sh build/release FOLDER    here: gathers the programs
//   FOLDER/run_on_cuda.sh full      there: runs them
//
// What the calls do is what CUDA does, and not always what AMD's HIP does:
// - Priorities are CUDA's, 0 to -5 on an H200, and streams with a CU mask are
//   not supported.
// - hipStreamDestroy doesn't wait for the stream's work.
// - hipGetLastError keeps the last failure until it is read, as CUDA and HIP
//   from 7.0 on; hipErrorNotReady too, as CUDA alone.
//
// To CUDA, a stream that has been destroyed is undefined behavior; to AMD's HIP
// (up to 6.4) it is hipErrorContextIsDestroyed. So this library hands out
// handles of its own, by which it knows the dead ones: see streams.h. By that,
// and by being in between, a call costs some 4 ns more. Events, memory and
// graphs are CUDA's own.
//
// Nothing here is linked by a program, but for the function below.
#ifndef HIP_STREAM_POOL_TESTS_HIP_OVER_CUDA_HIP_OVER_CUDA_H_
#define HIP_STREAM_POOL_TESTS_HIP_OVER_CUDA_HIP_OVER_CUDA_H_

#include <dlfcn.h>

namespace hip_over_cuda {

// "over CUDA 13.0" if this process's HIP is this library, else nullptr.
inline const char* Description() {
  using Function = const char*();
  auto* const description = reinterpret_cast<Function*>(
      dlsym(RTLD_DEFAULT, "HipOverCudaDescription"));
  return description == nullptr ? nullptr : description();
}

// The same without looking at CUDA.
inline bool IsLoaded() {
  return dlsym(RTLD_DEFAULT, "HipOverCudaDescription") != nullptr;
}

}  // namespace hip_over_cuda

#endif  // HIP_STREAM_POOL_TESTS_HIP_OVER_CUDA_HIP_OVER_CUDA_H_
