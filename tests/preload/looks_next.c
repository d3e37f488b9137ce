/* SPDX-License-Identifier: Apache-2.0
 *
 * A library to be preloaded, as tools are: counts two of HIP's calls and passes
 * them on to the next definition.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <stdio.h>

static int calls;

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
  hipError_t (*next)(hipStream_t*, unsigned int) =
      dlsym(RTLD_NEXT, "hipStreamCreateWithFlags");
  ++calls;
  return next(stream, flags);
}

hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned int flags,
                                       int priority) {
  hipError_t (*next)(hipStream_t*, unsigned int, int) =
      dlsym(RTLD_NEXT, "hipStreamCreateWithPriority");
  ++calls;
  return next(stream, flags, priority);
}

__attribute__((destructor)) static void Print(void) {
  fprintf(stderr, "looks_next: %d\n", calls);
}
