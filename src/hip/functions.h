// SPDX-License-Identifier: Apache-2.0
//
// HipFunctions is the table of the HIP functions that the pool calls. To call
// one more, add a line to the list.
#ifndef HIP_STREAM_POOL_SRC_HIP_FUNCTIONS_H_
#define HIP_STREAM_POOL_SRC_HIP_FUNCTIONS_H_

#include "hip/hip_runtime_api.h"

// EVERY(function): every HIP from 5.2 on has it, and every header declares it.
// NEWER(function, parameters, version): HIP has it from that version on
// (HIP_VERSION: major * 10,000,000 + minor * 100,000 + patch). An older header
// may not know the types, so integers and plain pointers stand for them. A
// version's header can declare a function that its library does not have
// (hipLaunchHostFunc in 5.2).
#define HIP_STREAM_POOL_FUNCTIONS(EVERY, NEWER)                               \
  EVERY(hipDeviceGetStreamPriorityRange)                                      \
  EVERY(hipEventCreateWithFlags)                                              \
  EVERY(hipEventDestroy)                                                      \
  EVERY(hipEventQuery)                                                        \
  EVERY(hipEventRecord)                                                       \
  EVERY(hipGetDevice)                                                         \
  EVERY(hipGetDeviceCount)                                                    \
  EVERY(hipGetErrorName)                                                      \
  EVERY(hipGetLastError)                                                      \
  EVERY(hipMemcpyAsync)                                                       \
  EVERY(hipRuntimeGetVersion)                                                 \
  EVERY(hipSetDevice)                                                         \
  EVERY(hipStreamAddCallback)                                                 \
  EVERY(hipStreamCreateWithPriority)                                          \
  EVERY(hipStreamDestroy)                                                     \
  EVERY(hipStreamGetFlags)                                                    \
  EVERY(hipStreamGetPriority)                                                 \
  EVERY(hipStreamIsCapturing)                                                 \
  EVERY(hipStreamQuery)                                                       \
  EVERY(hipStreamSynchronize)                                                 \
  EVERY(hipStreamWaitEvent)                                                   \
  EVERY(hipThreadExchangeStreamCaptureMode)                                   \
  NEWER(hipLaunchHostFunc, (hipStream_t, void (*)(void*), void*), 50300000)   \
  NEWER(hipStreamGetDevice, (hipStream_t, int*), 50600000)                    \
  NEWER(hipStreamGetId, (hipStream_t, unsigned long long*), 70100000)         \
  NEWER(hipStreamGetAttribute, (hipStream_t, int attribute, void*), 70100000) \
  NEWER(hipStreamSetAttribute, (hipStream_t, int attribute, const void*),     \
        70100000)

namespace hip_stream_pool {

template <typename Signature>
struct HipFunction {
  const char* name;
  Signature* call = nullptr;  // nullptr where HIP lacks it

  explicit operator bool() const { return call != nullptr; }
};

struct HipFunctions {
  // NOLINTBEGIN(bugprone-macro-parentheses,google-runtime-int): a table.
#define EVERY(function) HipFunction<decltype(::function)> function{#function};
#define NEWER(function, parameters, version) \
  HipFunction<hipError_t parameters> function{#function};
  HIP_STREAM_POOL_FUNCTIONS(EVERY, NEWER)
#undef EVERY
#undef NEWER
  // NOLINTEND(bugprone-macro-parentheses,google-runtime-int)
};

// Fills the table. Defined once in every program: the library takes the HIP
// that it is linked with (linked_functions.cc), the preload library the one
// that the program has loaded, a test its own. False if there is no HIP to
// stand on.
bool FindHipFunctions(HipFunctions& functions);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_HIP_FUNCTIONS_H_
