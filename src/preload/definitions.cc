// SPDX-License-Identifier: Apache-2.0
#include "preload/definitions.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>

#include "preload/real_hip.h"

namespace hip_stream_pool {
namespace {

// What the loader last said. Used only within LoadedObjects::With.
struct GlobalScope {
  void* functions[kFunctions] = {};
  uint64_t loads = 0;  // 0: it was not asked yet
  uint64_t unloads = 0;

  bool IsCurrent(const LoadedObjects& objects) const {
    return loads == objects.loads() && unloads == objects.unloads();
  }
  // nullptr if it had none, or another object may have its place by now.
  LoadedObject* DefinerOf(Function function, LoadedObjects& objects) const {
    if (functions[function] == nullptr) return nullptr;
    for (LoadedObject& object : objects) {
      if (object.functions[function] != functions[function]) continue;
      const bool is_same = unloads == objects.unloads() || object.is_hip;
      return is_same ? &object : nullptr;
    }
    return nullptr;
  }
};
GlobalScope global_scope;

bool IsClear(const LoadedObjects& objects, Function function) {
  return objects.DefinersOf(function).count < 2;
}

LoadedObject* FindInGroups(LoadedObjects& objects, LoadedObject* member,
                           Function function) {
  for (LoadedObject* root = objects.startup_end(); root != objects.end();
       ++root) {
    LoadedObject* found = objects.FindInGroup(root, member, function);
    if (found != nullptr) return found;
  }
  return nullptr;
}

// Of several definitions, none of which the program was started with.
LoadedObject* Choose(LoadedObjects& objects, LoadedObject* caller,
                     Function function) {
  LoadedObject* global = global_scope.DefinerOf(function, objects);
  if (caller != nullptr && caller >= objects.startup_end()) {
    // What it has of the others that have HIP's names is the same one's.
    LoadedObject* bound = std::find_if(
        objects.self() + 1, objects.end(), [&](const LoadedObject& object) {
          return object.functions[function] != nullptr &&
                 caller->IsBoundTo(object);
        });
    if (bound != objects.end()) return bound;
    // Else as the loader does it, when an object is loaded.
    if (global != nullptr && global < caller) return global;
    LoadedObject* found = FindInGroups(objects, caller, function);
    if (found != nullptr) return found;
  }
  if (global != nullptr) return global;
  // It may be one that became global since.
  const auto& definers = objects.DefinersOf(function);
  return global_scope.IsCurrent(objects) ? definers.first : definers.last;
}

LoadedObject* DefinerForCaller(LoadedObjects& objects, const void* caller,
                               Function function) {
  LoadedObject* first = objects.DefinersOf(function).first;
  if (IsClear(objects, function) || first < objects.startup_end()) return first;
  LoadedObject* from = objects.At(caller);
  if (from == nullptr) return Choose(objects, nullptr, function);
  if (from->reached[function] == nullptr) {
    from->reached[function] = Choose(objects, from, function);
  }
  return from->reached[function];
}

Definition Describe(const LoadedObjects& objects, const LoadedObject* definer,
                    Function function) {
  if (definer == nullptr) return {};
  return {definer->functions[function], definer->is_hip,
          objects.CountHips() > 1};
}

// Before anything of the program can open a library.
__attribute__((constructor)) void SeeWhatTheProgramWasStartedWith() {
  LoadedObjects::With([](LoadedObjects&) {});
}

}  // namespace

Definition FindForCaller(Function function, const void* caller) {
  Definition definition;
  bool must_ask = false;
  const bool may_ask = KnownRealHip() == nullptr && !StandsAside();
  const auto find = [&](LoadedObjects& objects) {
    LoadedObject* definer = DefinerForCaller(objects, caller, function);
    definition = Describe(objects, definer, function);
    must_ask = may_ask && !IsClear(objects, function) &&
               definer >= objects.startup_end() &&
               !global_scope.IsCurrent(objects);
  };
  LoadedObjects::With(find);
  if (must_ask) {
    LearnGlobalScope();
    LoadedObjects::With(find);
  }
  return definition;
}

Definition FindByAddress(Function function, void* address) {
  Definition definition;
  LoadedObjects::With([&](LoadedObjects& objects) {
    LoadedObject* object = objects.At(address);
    // A HIP ahead of this library has the program's calls without it.
    if (object != nullptr && object > objects.self() &&
        object->functions[function] == address) {
      definition = Describe(objects, object, function);
    }
  });
  return definition;
}

bool AreThereSeveralHips() {
  bool several = false;
  LoadedObjects::With(
      [&](LoadedObjects& objects) { several = objects.CountHips() > 1; });
  return several;
}

DlsymFunction NextDlsym() {
#if defined(__x86_64__)
  static std::atomic<DlsymFunction> known{nullptr};
  DlsymFunction next = known.load(std::memory_order_relaxed);
  if (next == nullptr) {
    // The version that every glibc has.
    next = reinterpret_cast<DlsymFunction>(
        dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
    known.store(next, std::memory_order_relaxed);
  }
  return next;
#else
  return dlsym;
#endif
}

void LearnGlobalScope(bool in_any_case) {
  GlobalScope learnt;
  bool is_needed = in_any_case;
  LoadedObjects::With([&](LoadedObjects& objects) {
    learnt.loads = objects.loads();
    learnt.unloads = objects.unloads();
    for (int i = 0; i < kFunctions && !is_needed; ++i) {
      is_needed = !IsClear(objects, static_cast<Function>(i)) &&
                  !global_scope.IsCurrent(objects);
    }
  });
  if (!is_needed) return;
  for (int i = 0; i < kFunctions; ++i) {
    learnt.functions[i] = FindInGlobalScope(static_cast<Function>(i));
  }
  (void)dlerror();  // NOLINT(concurrency-mt-unsafe): glibc has it by thread
  LoadedObjects::With([&](LoadedObjects& objects) {
    global_scope = learnt;
    for (LoadedObject& object : objects) {
      for (LoadedObject*& reached : object.reached) reached = nullptr;
    }
  });
}

void* FindInGlobalScope(Function function) {
  return NextDlsym()(RTLD_NEXT, kFunctionNames[function]);
}

void* FindInGroupsOf(const void* caller, Function function) {
  void* found = nullptr;
  LoadedObjects::With([&](LoadedObjects& objects) {
    LoadedObject* from = objects.At(caller);
    if (from == nullptr || from < objects.startup_end()) return;
    LoadedObject* definer = FindInGroups(objects, from, function);
    if (definer != nullptr) found = definer->functions[function];
  });
  return found;
}

bool FindNext(const void* caller, Function function, void** next) {
  bool is_ahead = false;
  *next = nullptr;
  LoadedObjects::With([&](LoadedObjects& objects) {
    LoadedObject* object = objects.At(caller);
    if (object == nullptr || object >= objects.startup_end()) return;
    is_ahead = object < objects.self();
    while (++object < objects.startup_end() && *next == nullptr) {
      if (object != objects.self()) *next = object->functions[function];
    }
  });
  if (is_ahead && *next == nullptr) *next = FindInGlobalScope(function);
  return is_ahead || *next != nullptr;
}

}  // namespace hip_stream_pool
