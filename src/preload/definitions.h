// SPDX-License-Identifier: Apache-2.0
//
// What a name would lead to if this library were not there. The loader looks
// for a name in the global scope (the program, the preloaded libraries, what
// the program links, what was opened RTLD_GLOBAL), and then in the group that
// the asking library was opened with: that library and what it links.
#ifndef HIP_STREAM_POOL_SRC_PRELOAD_DEFINITIONS_H_
#define HIP_STREAM_POOL_SRC_PRELOAD_DEFINITIONS_H_

#include "preload/loaded_objects.h"

namespace hip_stream_pool {

struct Definition {
  void* function = nullptr;   // nullptr if nothing defines it
  bool is_hips = false;       // a libamdhip64 defines it ...
  bool several_hips = false;  // ... and others are loaded besides
};

// What a call at `caller` would reach. Takes no lock of the loader's but that
// of its list, once KnownRealHip().
Definition FindForCaller(Function function, const void* caller);

// The object that has the function at this address.
Definition FindByAddress(Function function, void* address);

bool AreThereSeveralHips();

// The rest is for dlsym, whose caller takes the loader's lock anyway.

// libc's dlsym, or that of a library preloaded behind this one; this library
// may define the name itself (symbol_lookup.cc).
using DlsymFunction = void* (*)(void* handle, const char* name);
DlsymFunction NextDlsym();

// Has the loader say which definitions are in the global scope behind this
// library, if FindForCaller needs that and something was loaded since the last
// time; or in any case.
void LearnGlobalScope(bool in_any_case = false);

// In the global scope behind this library. If nullptr, dlerror() says so.
void* FindInGlobalScope(Function function);

// In the groups that the caller's object was opened with.
void* FindInGroupsOf(const void* caller, Function function);

// What RTLD_NEXT gives the caller. False if the loader finds that without this
// library in its way. If `next` is nullptr, dlerror() says so.
bool FindNext(const void* caller, Function function, void** next);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_PRELOAD_DEFINITIONS_H_
