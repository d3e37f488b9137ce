// SPDX-License-Identifier: Apache-2.0
#include "preload/real_hip.h"

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>

#include "preload/next_definition.h"

namespace hip_stream_pool {
namespace {

std::atomic<const RealHip*> known_hip{nullptr};
std::atomic<bool> stands_aside{false};

template <typename Function>
bool Find(const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(FindInHip(name));
  return function != nullptr;
}

std::string WhyNotLoaded() {
  const int hips = CountHips();
  if (hips == 0) return "no libamdhip64 is loaded";
  if (hips > 1) return "several libamdhip64 are loaded";
  return "";
}

}  // namespace

const RealHip* KnownRealHip() {
  return known_hip.load(std::memory_order_acquire);
}

const RealHip* GetRealHip() {
  const RealHip* known = KnownRealHip();
  if (known != nullptr || StandsAside()) return known;
  auto hip = std::make_unique<RealHip>();
  hip->in_global_scope = FindInGlobalScope("hipStreamCreate") != nullptr;
  std::string missing;
#define FIND(function, parameters, arguments) \
  if (!Find(#function, hip->function)) missing = #function;
  HIP_STREAM_POOL_REQUIRED_FUNCTIONS(FIND)
#undef FIND
#define FIND(function) Find(#function, hip->function);
  HIP_STREAM_POOL_OTHER_FUNCTIONS(FIND)
#undef FIND
  if (!missing.empty()) {
    const std::string why = WhyNotLoaded();
    StandAside(why.empty() ? ("the HIP that is loaded lacks " + missing).c_str()
                           : why.c_str());
    return nullptr;
  }
  // Of threads that get here at once, the first one's stays.
  if (known_hip.compare_exchange_strong(known, hip.get(),
                                        std::memory_order_acq_rel)) {
    known = hip.release();
  }
  return known;
}

void StandAside(const char* why) {
  if (stands_aside.exchange(true)) return;
  std::fprintf(stderr,
               "hip-stream-pool: stands aside, and leaves streams to HIP: %s\n",
               why);
}

bool StandsAside() { return stands_aside.load(std::memory_order_relaxed); }

}  // namespace hip_stream_pool
