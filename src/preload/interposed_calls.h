// SPDX-License-Identifier: Apache-2.0
//
// The functions that this library puts in the place of HIP's. Each exists
// twice. The exported one goes to what its caller would have reached without
// this library, which the pool answers for if that is the HIP that it stands
// on. The pooled one, for dlsym to return, is always that HIP's. Both addresses
// are this library's, whatever a program defines under these names.
#ifndef HIP_STREAM_POOL_SRC_PRELOAD_INTERPOSED_CALLS_H_
#define HIP_STREAM_POOL_SRC_PRELOAD_INTERPOSED_CALLS_H_

#include "preload/loaded_objects.h"

namespace hip_stream_pool {

struct Interposed {
  void* exported;
  void* pooled;
};
Interposed InterposedFor(Function function);

// What StandAside is told of two HIPs.
constexpr char kSecondHip[] = "a second HIP was loaded";

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_PRELOAD_INTERPOSED_CALLS_H_
