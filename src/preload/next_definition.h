// SPDX-License-Identifier: Apache-2.0
//
// What a name would lead to if this library were not there. The loader looks
// for a name in the global scope (the program, what it links, what is
// preloaded) and then in what the asking library links itself. The second is
// where HIP is when a Python extension brought it: RTLD_NEXT alone would not
// find it.
#ifndef HIP_STREAM_POOL_SRC_PRELOAD_NEXT_DEFINITION_H_
#define HIP_STREAM_POOL_SRC_PRELOAD_NEXT_DEFINITION_H_

namespace hip_stream_pool {

// libc's dlsym, or that of a library preloaded behind this one; this library
// may define the name itself (symbol_lookup.cc).
using DlsymFunction = void* (*)(void* handle, const char* name);
DlsymFunction NextDlsym();

// How many of the loaded libraries are a HIP, by their file's name:
// libamdhip64 with a suffix.
int CountHips();

// Whether those are several. Quick, unless a library was loaded since the last
// call.
bool AreThereSeveralHips();

// In the global scope behind this library; nullptr if there is none.
void* FindInGlobalScope(const char* name);

// So, or else in the HIP that is loaded, if it is the only one. That one then
// stays loaded.
void* FindInHip(const char* name);

// In the library that has the code at `caller`, and in those that it links.
void* FindInLibraryOf(const void* caller, const char* name);

// What a call at `caller` would reach, also where several HIPs are loaded.
void* FindForCaller(const void* caller, const char* name);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_PRELOAD_NEXT_DEFINITION_H_
