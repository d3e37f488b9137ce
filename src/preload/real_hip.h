// SPDX-License-Identifier: Apache-2.0
//
// RealHip is the HIP that the pool stands on in a program that knows nothing of
// it: the one that the program has loaded, found when the program first calls.
// This library links no HIP, for a second one in the process would be the end
// of the program.
#ifndef HIP_STREAM_POOL_SRC_PRELOAD_REAL_HIP_H_
#define HIP_STREAM_POOL_SRC_PRELOAD_REAL_HIP_H_

#include "hip/hip_runtime_api.h"
#include "newer_hip.h"

// DO(function, parameters, arguments): what every HIP from 5.2 on has ...
#define HIP_STREAM_POOL_REQUIRED_FUNCTIONS(DO)                                \
  DO(hipDeviceGetStreamPriorityRange, (int* least, int* greatest),            \
     (least, greatest))                                                       \
  DO(hipEventCreateWithFlags, (hipEvent_t * event, unsigned int flags),       \
     (event, flags))                                                          \
  DO(hipEventDestroy, (hipEvent_t event), (event))                            \
  DO(hipGetDevice, (int* device), (device))                                   \
  DO(hipGetDeviceCount, (int* count), (count))                                \
  DO(hipGetLastError, (), ())                                                 \
  DO(hipRuntimeGetVersion, (int* version), (version))                         \
  DO(hipSetDevice, (int device), (device))                                    \
  DO(hipStreamCreateWithPriority,                                             \
     (hipStream_t * stream, unsigned int flags, int priority),                \
     (stream, flags, priority))                                               \
  DO(hipStreamDestroy, (hipStream_t stream), (stream))                        \
  DO(hipStreamGetFlags, (hipStream_t stream, unsigned int* flags),            \
     (stream, flags))                                                         \
  DO(hipStreamGetPriority, (hipStream_t stream, int* priority),               \
     (stream, priority))                                                      \
  DO(hipStreamIsCapturing,                                                    \
     (hipStream_t stream, hipStreamCaptureStatus * status), (stream, status)) \
  DO(hipStreamQuery, (hipStream_t stream), (stream))                          \
  DO(hipStreamSynchronize, (hipStream_t stream), (stream))                    \
  DO(hipThreadExchangeStreamCaptureMode, (hipStreamCaptureMode * mode), (mode))

// ... and what came later, or returns something else.
#define HIP_STREAM_POOL_OTHER_FUNCTIONS(DO) \
  DO(hipGetErrorName)                       \
  DO(hipStreamGetDevice)                    \
  DO(hipStreamGetId)                        \
  DO(hipStreamGetAttribute)                 \
  DO(hipStreamSetAttribute)

namespace hip_stream_pool {

struct RealHip {
  // NOLINTBEGIN(bugprone-macro-parentheses): names.
#define DECLARE(function, parameters, arguments) \
  decltype(&::function) function = nullptr;
  HIP_STREAM_POOL_REQUIRED_FUNCTIONS(DECLARE)
#undef DECLARE

  // nullptr where HIP lacks it.
#define DECLARE(function) decltype(&::function) function = nullptr;
  HIP_STREAM_POOL_OTHER_FUNCTIONS(DECLARE)
#undef DECLARE
  // NOLINTEND(bugprone-macro-parentheses)

  bool in_global_scope = false;
};

// Finds it on the first call. nullptr if there is none to stand on: none is
// loaded, or several, or it lacks a function; that is then said, once. Stays
// the same for good.
const RealHip* GetRealHip();

// What GetRealHip has found already, if anything.
const RealHip* KnownRealHip();

// From now on no stream is taken from the pool. Says so on stderr, once in the
// process.
void StandAside(const char* why);
bool StandsAside();

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_PRELOAD_REAL_HIP_H_
