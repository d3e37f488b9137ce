/* SPDX-License-Identifier: Apache-2.0
 *
 * second_hip HIP SECOND: a program that knows nothing of the pool. Has streams
 * of the HIP (small_hip.c) when it opens the second one.
 */
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  void* hip = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (hip == NULL) return 1;
  hipError_t (*create)(hipStream_t*) = dlsym(hip, "hipStreamCreate");
  hipError_t (*destroy)(hipStream_t) = dlsym(hip, "hipStreamDestroy");
  int (*count)(void) = dlsym(hip, "CountStreams");
  hipStream_t parked = NULL;
  hipStream_t kept = NULL;
  hipStream_t made_after = NULL;
  printf("%d ", create(&parked));
  printf("%d ", create(&kept));
  printf("%d\n", destroy(parked));
  if (dlopen(argv[2], RTLD_NOW) == NULL) return 1;
  const int before = count();
  printf("%d %d\n", destroy(kept), before - count());
  printf("%d ", create(&made_after));
  printf("%d ", made_after != parked || count() == 1);
  printf("%d\n", destroy(made_after));
  destroy = dlsym(hip, "hipStreamDestroy");
  printf("%d %d\n", destroy(kept), destroy(parked));
  return 0;
}
