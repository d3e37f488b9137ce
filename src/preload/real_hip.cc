// SPDX-License-Identifier: Apache-2.0
#include "preload/real_hip.h"

#include <dlfcn.h>

#include <atomic>
#include <climits>
#include <cstdio>
#include <memory>

#include "preload/definitions.h"
#include "preload/summary.h"
#include "stderr_line.h"

namespace hip_stream_pool {
namespace {

std::atomic<const RealHip*> known_hip{nullptr};

std::atomic<bool> stands_aside{false};
char why_it_stands_aside[128] = "";

template <typename Signature>
bool Find(const LoadedObject& object, HipFunction<Signature>& function) {
  function.call = reinterpret_cast<Signature*>(object.Find(function.name));
  return function.call != nullptr;
}

// The name of a function that the pool needs and the HIP lacks, or nullptr.
const char* FindAll(const LoadedObject& object, RealHip& hip) {
  const char* missing = nullptr;
#define EVERY(function) \
  if (!Find(object, hip.functions.function)) missing = #function;
#define NEWER(function, parameters, version) \
  Find(object, hip.functions.function);
  HIP_STREAM_POOL_FUNCTIONS(EVERY, NEWER)
#undef EVERY
#undef NEWER
  Find(object, hip.hipFree);
  for (int i = 0; i < kFunctions; ++i) hip.own[i] = object.functions[i];
  return missing;
}

}  // namespace

const RealHip* KnownRealHip() {
  return known_hip.load(std::memory_order_acquire);
}

const RealHip* GetRealHip(const void* function) {
  const RealHip* known = KnownRealHip();
  if (known != nullptr || StandsAside()) return known;
  auto hip = std::make_unique<RealHip>();
  const char* missing = nullptr;
  char path[PATH_MAX] = "";  // if it can be unloaded
  LoadedObjects::With([&](LoadedObjects& objects) {
    const LoadedObject* object = objects.At(function);
    missing = FindAll(*object, *hip);
    if (object < objects.startup_end()) return;
    std::snprintf(path, sizeof(path), "%s", object->path);
  });
  if (missing != nullptr) {
    StandAside("the loaded HIP lacks ", missing);
    return nullptr;
  }
  if (*path != '\0') {
    // Parked streams outlive the program's dlclose: this is never closed.
    dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    LearnGlobalScope(/*in_any_case=*/true);
  }
  TimeCallsForSummary(*hip);
  // Of threads that get here at once, the first one's stays.
  if (known_hip.compare_exchange_strong(known, hip.get(),
                                        std::memory_order_acq_rel)) {
    known = hip.release();
  }
  return known;
}

// For the pool, whose HIP is chosen by then.
bool FindHipFunctions(HipFunctions& functions) {
  const RealHip* hip = KnownRealHip();
  if (hip == nullptr) return false;
  functions = hip->functions;
  return true;
}

void StandAside(const char* why, const char* what) {
  static std::atomic<bool> said{false};
  if (said.load(std::memory_order_relaxed) || said.exchange(true)) return;
  std::snprintf(why_it_stands_aside, sizeof(why_it_stands_aside), "%s%s", why,
                what);
  stands_aside.store(true);
  PrintLine(": disabled: %s", why_it_stands_aside);
}

bool StandsAside() { return stands_aside.load(std::memory_order_acquire); }

const char* WhyStandsAside() {
  return StandsAside() ? why_it_stands_aside : "";
}

}  // namespace hip_stream_pool
