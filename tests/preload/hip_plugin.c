/* SPDX-License-Identifier: Apache-2.0
 *
 * A shared library that links HIP and knows nothing of the pool, such as a
 * Python extension. opens_library opens it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <stdio.h>

/* Is the stream of the same HIP? */
static void Try(hipStream_t stream) {
  printf("%d ", hipStreamQuery(stream));
  printf("%d\n", hipStreamDestroy(stream));
}

/* As the linker has it. */
static void UseLinked(void) {
  hipStream_t a = NULL;
  hipStream_t b = NULL;
  const hipError_t created = hipStreamCreate(&a);
  printf("%d ", created);
  printf("%d ", hipStreamCreate(&b));
  if (created != hipSuccess) return;
  printf("%d ", a != b);
  Try(a);
  Try(b);
}

/* As the loader has it. */
static void UseFound(const char* where, void* handle) {
  hipError_t (*create)(hipStream_t*) = dlsym(handle, "hipStreamCreate");
  hipError_t (*query)(hipStream_t) = dlsym(handle, "hipStreamQuery");
  hipError_t (*destroy)(hipStream_t) = dlsym(handle, "hipStreamDestroy");
  hipError_t (*reset)(void) = dlsym(handle, "hipDeviceReset");
  hipStream_t stream = NULL;
  printf("%s %d %d %d %d: ", where, create != NULL, query != NULL,
         destroy != NULL, reset != NULL);
  if (!create || !query || !destroy || create(&stream) != hipSuccess) {
    printf("%s\n", dlerror() == NULL ? "no error" : "error");
    return;
  }
  printf("%d ", query(stream));
  printf("%d\n", destroy(stream));
}

void UseStreams(void) {
  for (int round = 0; round < 20; ++round) UseLinked();
}

void FindStreams(void) {
  UseFound("next", RTLD_NEXT);
  UseFound("default", RTLD_DEFAULT);
}
