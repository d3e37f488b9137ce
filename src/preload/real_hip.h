// SPDX-License-Identifier: Apache-2.0
//
// RealHip is the HIP that the pool stands on in a program that knows nothing of
// it: the libamdhip64 that the program has loaded, chosen when the program
// first asks that for a stream. This library links no HIP: a second one in the
// process would be the end of the program.
#ifndef HIP_STREAM_POOL_SRC_PRELOAD_REAL_HIP_H_
#define HIP_STREAM_POOL_SRC_PRELOAD_REAL_HIP_H_

#include "hip/hip_runtime_api.h"
#include "newer_hip.h"
#include "preload/loaded_objects.h"

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
  DO(hipFree)                               \
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

  // Its definitions of what this library has in their place. They make the
  // program's own calls; what is above makes the pool's.
  void* own[kFunctions] = {};
};

// Chooses, on the first call, the HIP that has `function`. nullptr if the pool
// can't stand on that: it lacks something, which is then said, once. The choice
// is for good, and what was chosen stays loaded.
const RealHip* GetRealHip(const void* function);

// What GetRealHip has chosen already, if anything.
const RealHip* KnownRealHip();

// From now on no stream is taken from the pool, and none parked. Says on stderr
// why, once in the process.
void StandAside(const char* why, const char* what = "");
bool StandsAside();

// "" if this does not stand aside. Takes no lock.
const char* WhyStandsAside();

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_PRELOAD_REAL_HIP_H_
