// SPDX-License-Identifier: Apache-2.0
//
// RealHip is the HIP that the pool stands on in a program that knows nothing of
// it: the libamdhip64 that the program has loaded, chosen when the program
// first asks that for a stream. This library links no HIP: a second one in the
// process would be the end of the program.
#ifndef HIP_STREAM_POOL_SRC_PRELOAD_REAL_HIP_H_
#define HIP_STREAM_POOL_SRC_PRELOAD_REAL_HIP_H_

#include "hip/functions.h"
#include "hip/hip_runtime_api.h"
#include "preload/loaded_objects.h"

namespace hip_stream_pool {

struct RealHip {
  // For the calls of the pool.
  HipFunctions functions;
  HipFunction<decltype(::hipFree)> hipFree{"hipFree"};
  // Its definitions of what this library has in their place, for the program's
  // own calls.
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
