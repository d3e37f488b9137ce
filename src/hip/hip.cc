// SPDX-License-Identifier: Apache-2.0
#include "hip/hip.h"

#include <memory>

#include "hip/call_guard.h"

namespace hip_stream_pool {
namespace {

// A function that is newer than the version is not the one that is meant.
void DropNewerThan(int version, HipFunctions& functions) {
#define EVERY(function)
#define NEWER(function, parameters, since) \
  if (version < (since)) functions.function.call = nullptr;
  HIP_STREAM_POOL_FUNCTIONS(EVERY, NEWER)
#undef EVERY
#undef NEWER
}

// Asks HIP for its version, and keeps what was found.
Result Learn(const HipFunctions& functions) {
  int version = 0;
  const Result result = CallHip(functions.hipRuntimeGetVersion, &version);
  if (!result.ok()) return result;
  auto hip = std::make_unique<Hip>(Hip{functions, version, Behaviors(version)});
  DropNewerThan(version, hip->functions);
  // Of threads that get here at once, the first one's stays.
  const Hip* none = nullptr;
  if (internal::known_hip.compare_exchange_strong(none, hip.get(),
                                                  std::memory_order_acq_rel)) {
    (void)hip.release();
  }
  return result;
}

}  // namespace

Result StartHip(int* device_count) {
  HipCallGuard guard;
  HipFunctions functions;
  if (!guard.may_call() || !FindHipFunctions(functions)) {
    return Refused(Refusal::kNoHip);
  }
  WatchForks();
  Result result = CallHip(functions.hipGetDeviceCount, device_count);
  if (result.ok() && KnownHip() == nullptr) result = Learn(functions);
  if (!result.ok()) (void)functions.hipGetLastError.call();
  return result;
}

}  // namespace hip_stream_pool
