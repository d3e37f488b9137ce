/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that knows nothing of the pool, and destroys its streams where the
 * preloaded library can't see it, as with a function that dlvsym gave.
 */
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <stdio.h>

int main(void) {
  void* hip = dlopen(SMALL_HIP, RTLD_NOW);
  hipError_t (*create)(hipStream_t*) = dlsym(hip, "hipStreamCreate");
  hipError_t (*destroy)(hipStream_t) = dlsym(hip, "DestroyUnseen");
  int (*count)(void) = dlsym(hip, "CountStreams");
  int most = 0;
  for (int i = 0; i < 600; ++i) {
    hipStream_t stream = NULL;
    if (create(&stream) != hipSuccess) return 1;
    if (count() > most) most = count();
    if (destroy(stream) != hipSuccess) return 2;
  }
  printf("few %d\n", most <= 4);
  return 0;
}
