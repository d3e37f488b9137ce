/* SPDX-License-Identifier: Apache-2.0
 *
 * wraps_hip handle|next: a program that knows nothing of the pool and wraps
 * HIP's functions under their own names, for the library that it links too. The
 * wrapped ones it finds with dlsym, in HIP or behind itself.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void UseStreams(void); /* hip_plugin.c */

static void* where;
static int calls;

#define WRAP(function, parameters, arguments)               \
  hipError_t function parameters {                          \
    static hipError_t(*wrapped) parameters;                 \
    static int depth;                                       \
    if (wrapped == NULL) wrapped = dlsym(where, #function); \
    if (wrapped == NULL || ++depth > 1) abort();            \
    ++calls;                                                \
    const hipError_t error = wrapped arguments;             \
    --depth;                                                \
    return error;                                           \
  }
WRAP(hipStreamCreate, (hipStream_t * stream), (stream))
WRAP(hipStreamCreateWithFlags, (hipStream_t * stream, unsigned int flags),
     (stream, flags))
WRAP(hipStreamCreateWithPriority,
     (hipStream_t * stream, unsigned int flags, int priority),
     (stream, flags, priority))
WRAP(hipStreamDestroy, (hipStream_t stream), (stream))
WRAP(hipDeviceReset, (void), ())

int main(int argc, char** argv) {
  hipStream_t stream = NULL;
  const int next = argc == 2 && strcmp(argv[1], "next") == 0;
  where = next ? RTLD_NEXT : dlopen(SMALL_HIP, RTLD_NOW);
  for (int round = 0; round < 3; ++round) {
    printf("%d ", hipStreamCreate(&stream));
    printf("%d ", hipStreamDestroy(stream));
    printf("%d ", hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    printf("%d ", hipStreamDestroy(stream));
    printf("%d ", hipStreamCreateWithPriority(&stream, 0, -1));
    printf("%d ", hipStreamDestroy(stream));
    printf("%d\n", hipDeviceReset());
  }
  UseStreams();
  printf("%d calls\n", calls);
  return 0;
}
