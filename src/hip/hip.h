// SPDX-License-Identifier: Apache-2.0
//
// The HIP that the pool stands on: its functions, its version, and how that
// behaves. All are found when the first stream is asked for.
#ifndef HIP_STREAM_POOL_SRC_HIP_HIP_H_
#define HIP_STREAM_POOL_SRC_HIP_HIP_H_

#include <atomic>

#include "hip/behaviors.h"
#include "hip/functions.h"
#include "hip/result.h"

namespace hip_stream_pool {

struct Hip {
  HipFunctions functions;
  int version;
  Behaviors behaviors;
};

namespace internal {
inline std::atomic<const Hip*> known_hip{nullptr};
}

// nullptr until StartHip has succeeded. Never changes after that.
inline const Hip* KnownHip() {
  return internal::known_hip.load(std::memory_order_acquire);
}

// Asks HIP for the number of devices, which starts it, and, the first time,
// learns what KnownHip then returns. Thread-safe.
Result StartHip(int* device_count);

// Calls function->call(arguments...). For calls that need neither device nor
// capture mode, under a HipCallGuard: see HipScope for the others.
template <typename Signature, typename... Arguments>
Result CallHip(const HipFunction<Signature>& function, Arguments... arguments) {
  return {function.name, function.call(arguments...)};
}

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_HIP_HIP_H_
