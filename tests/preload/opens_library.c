/* SPDX-License-Identifier: Apache-2.0
 *
 * opens_library [first] PATH...: a program that links no HIP and knows nothing
 * of the pool. Opens each library, RTLD_GLOBAL with a "+" before its path, and
 * uses streams through it: by its UseStreams (hip_plugin.c), else by HIP's
 * functions. Closes it then, with a "~" before its path. "first": opens all of
 * them before it uses the first.
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
    printf("%s %s: %d %s\n", where, names[i], found != NULL,
           error == NULL ? "no error" : strstr(error, "undefined symbol"));
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
    const hipError_t created = create(&a);
    printf("%d ", created);
    printf("%d ", prioritized(&b, hipStreamNonBlocking, -1));
    if (created != hipSuccess) continue;
    printf("%d ", a != b);
    printf("%d ", destroy(a));
    printf("%d ", destroy(b));
    printf("%d ", create(NULL));
    printf("%d\n", last());
  }
}

static void* Open(const char* argument) {
  const int global = *argument == '+';
  void* library = dlopen(argument + (global || *argument == '~'),
                         RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
  if (library != NULL) return library;
  printf("%s\n", dlerror());
  exit(1);
}

static void UseAll(void* library) {
  Look("library", library);
  void (*use_streams)(void) = dlsym(library, "UseStreams");
  void (*find_streams)(void) = dlsym(library, "FindStreams");
  if (use_streams != NULL) {
    use_streams();
    find_streams();
  } else {
    Use(library);
  }
  Look("default", RTLD_DEFAULT);
  fflush(stdout);
}

int main(int argc, char** argv) {
  void* opened[16] = {NULL};
  const int first = argc > 1 && strcmp(argv[1], "first") == 0;
  Look("default", RTLD_DEFAULT);
  Look("next", RTLD_NEXT);
  Look("program", dlopen(NULL, RTLD_NOW));
  for (int i = 1 + first; first && i < argc; ++i) opened[i] = Open(argv[i]);
  for (int i = 1 + first; i < argc; ++i) {
    if (!first) opened[i] = Open(argv[i]);
    UseAll(opened[i]);
    if (*argv[i] == '~') dlclose(opened[i]);
  }
  return 0;
}
