/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that knows nothing of the pool, and whose variables have the names
 * of HIP's functions, as those of hipew and Orochi do: it exports them, and
 * fills them with dlsym.
 */
#include <dlfcn.h>
#include <stdio.h>

typedef void* Stream;
int (*hipStreamCreate)(Stream*);
int (*hipStreamCreateWithFlags)(Stream*, unsigned int);
int (*hipStreamCreateWithPriority)(Stream*, unsigned int, int);
int (*hipStreamDestroy)(Stream);
int (*hipDeviceReset)(void);
int (*hipStreamQuery)(Stream);

int main(void) {
  void* hip = dlopen(SMALL_HIP, RTLD_NOW);
#define FILL(function) *(void**)&function = dlsym(hip, #function)
  FILL(hipStreamCreate);
  FILL(hipStreamCreateWithFlags);
  FILL(hipStreamCreateWithPriority);
  FILL(hipStreamDestroy);
  FILL(hipDeviceReset);
  FILL(hipStreamQuery);
  for (int round = 0; round < 20; ++round) {
    Stream a = NULL;
    Stream b = NULL;
    Stream c = NULL;
    printf("%d ", hipStreamCreate(&a));
    printf("%d ", hipStreamCreateWithFlags(&b, 1));
    printf("%d ", hipStreamCreateWithPriority(&c, 1, -1));
    printf("%d ", hipStreamQuery(b));
    printf("%d ", hipStreamDestroy(a));
    printf("%d ", hipStreamDestroy(b));
    printf("%d\n", hipStreamDestroy(c));
  }
  printf("%d\n", hipDeviceReset());
  return 0;
}
