/* SPDX-License-Identifier: Apache-2.0
 *
 * timed_streams THREADS DEVICES: a program that knows nothing of the pool. Each
 * thread has two streams, again and again, on one of the devices. Prints how
 * long it took, in microseconds.
 */
#include <hip/hip_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int devices;

static long long Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static void Require(hipError_t error) {
  if (error != hipSuccess) abort();
}

static void* Run(void* argument) {
  Require(hipSetDevice((int)(intptr_t)argument % devices));
  for (int round = 0; round < 20; ++round) {
    hipStream_t streams[2];
    Require(hipStreamCreate(&streams[0]));
    Require(hipStreamCreate(&streams[1]));
    Require(hipStreamDestroy(streams[0]));
    Require(hipStreamDestroy(streams[1]));
  }
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[64];
  const int count = argc == 3 ? atoi(argv[1]) : 1;
  devices = argc == 3 ? atoi(argv[2]) : 1;
  const long long start = Now();
  for (intptr_t t = 0; t < count; ++t) {
    if (pthread_create(&threads[t], NULL, Run, (void*)t) != 0) abort();
  }
  for (int t = 0; t < count; ++t) pthread_join(threads[t], NULL);
  printf("%lld\n", Now() - start);
  return 0;
}
