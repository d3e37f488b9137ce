// SPDX-License-Identifier: Apache-2.0
#include "hip/hip.h"

#include <memory>
#include <utility>

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
Result Learn(std::unique_ptr<Hip> found) {
  const Result result =
      CallHip(found->functions.hipRuntimeGetVersion, &found->version);
  if (!result.ok()) return result;
  found->behaviors = Behaviors(found->version);
  DropNewerThan(found->version, found->functions);
  // Of threads that get here at once, the first one's stays.
  const Hip* none = nullptr;
  if (internal::known_hip.compare_exchange_strong(none, found.get(),
                                                  std::memory_order_acq_rel)) {
    (void)found.release();
  }
  return result;
}

}  // namespace

Result StartHip(int* device_count) {
  HipCallGuard guard;
  if (!guard.may_call()) return Refused(Refusal::kNoHip);
  auto found = std::make_unique<Hip>();
  if (!FindHipFunctions(found->functions)) return Refused(Refusal::kNoHip);
  const auto get_last_error = found->functions.hipGetLastError;
  WatchForks();
  Result result = CallHip(found->functions.hipGetDeviceCount, device_count);
  if (result.ok() && KnownHip() == nullptr) result = Learn(std::move(found));
  if (!result.ok()) (void)get_last_error.call();
  return result;
}

}  // namespace hip_stream_pool
