// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include "hip/functions.h"

namespace hip_stream_pool {

// What may be missing is asked of the loader, so that a library which was built
// with an old HIP's headers uses what a newer HIP has.
bool FindHipFunctions(HipFunctions& functions) {
  // NOLINTBEGIN(google-runtime-int,bugprone-macro-parentheses): a table.
#define EVERY(function) functions.function.call = &::function;
#define NEWER(function, parameters, version)                            \
  functions.function.call = reinterpret_cast<hipError_t(*) parameters>( \
      dlsym(RTLD_DEFAULT, functions.function.name));
  HIP_STREAM_POOL_FUNCTIONS(EVERY, NEWER)
#undef EVERY
#undef NEWER
  // NOLINTEND(google-runtime-int,bugprone-macro-parentheses)
  return true;
}

}  // namespace hip_stream_pool
