/* SPDX-License-Identifier: Apache-2.0
 *
 * A library to be preloaded, as tools are: counts HIP's calls and passes them
 * on to the next definition.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <stdio.h>

static int calls;

#define PASS_ON(function, parameters, arguments)                \
  hipError_t function parameters {                              \
    hipError_t(*next) parameters = dlsym(RTLD_NEXT, #function); \
    ++calls;                                                    \
    return next arguments;                                      \
  }
PASS_ON(hipStreamCreate, (hipStream_t * stream), (stream))
PASS_ON(hipStreamCreateWithFlags, (hipStream_t * stream, unsigned int flags),
        (stream, flags))
PASS_ON(hipStreamCreateWithPriority,
        (hipStream_t * stream, unsigned int flags, int priority),
        (stream, flags, priority))
PASS_ON(hipStreamDestroy, (hipStream_t stream), (stream))
PASS_ON(hipDeviceReset, (void), ())

__attribute__((destructor)) static void Print(void) {
  fprintf(stderr, "looks_next: %d\n", calls);
}
