/* SPDX-License-Identifier: Apache-2.0
 *
 * opens_library PATH...: a program that links no HIP and knows nothing of the
 * pool. Opens each library, RTLD_GLOBAL with a "+" before its path, and uses
 * streams through it: by its UseStreams (hip_plugin.c), else by HIP's
 * functions.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* const names[] = {"hipStreamCreate",
                                    "hipStreamCreateWithFlags",
                                    "hipStreamCreateWithPriority",
                                    "hipStreamDestroy",
                                    "hipDeviceReset",
                                    "hipStreamQuery",
                                    "hipNoSuchThing",
                                    "printf"};

/* Which names lead anywhere, and what dlerror says if not. */
static void Look(const char* where, void* handle) {
  for (size_t i = 0; i < sizeof(names) / sizeof(*names); ++i) {
    void* found = dlsym(handle, names[i]);
    const char* error = dlerror();
    printf("%s %s: %d %d\n", where, names[i], found != NULL, error != NULL);
  }
}

static void Use(void* library) {
  hipError_t (*create)(hipStream_t*) = dlsym(library, "hipStreamCreate");
  hipError_t (*prioritized)(hipStream_t*, unsigned int, int) =
      dlsym(library, "hipStreamCreateWithPriority");
  hipError_t (*destroy)(hipStream_t) = dlsym(library, "hipStreamDestroy");
  hipError_t (*last)(void) = dlsym(library, "hipGetLastError");
  if (!create || !prioritized || !destroy || !last) return;
  for (int round = 0; round < 20; ++round) {
    hipStream_t a = NULL;
    hipStream_t b = NULL;
    printf("%d ", create(&a));
    printf("%d ", prioritized(&b, hipStreamNonBlocking, -1));
    printf("%d ", a != b);
    printf("%d ", destroy(a));
    printf("%d ", destroy(b));
    printf("%d ", create(NULL));
    printf("%d\n", last());
  }
}

int main(int argc, char** argv) {
  Look("default", RTLD_DEFAULT);
  Look("next", RTLD_NEXT);
  Look("program", dlopen(NULL, RTLD_NOW));
  for (int i = 1; i < argc; ++i) {
    const int global = argv[i][0] == '+';
    void* library = dlopen(argv[i] + global,
                           RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (library == NULL) {
      printf("%s\n", dlerror());
      return 1;
    }
    Look("library", library);
    void (*use_streams)(void) = dlsym(library, "UseStreams");
    if (use_streams != NULL) {
      use_streams();
    } else {
      Use(library);
    }
    Look("default", RTLD_DEFAULT);
  }
  return 0;
}
