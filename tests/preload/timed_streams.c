/* SPDX-License-Identifier: Apache-2.0
 *
 * timed_streams THREADS DEVICES warm|cold: a program that knows nothing of the
 * pool. Each thread has six streams, again and again, on one of the devices.
 * Prints how long it took, in microseconds; warm: once the devices are started.
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
  for (int round = 0; round < 6; ++round) {
    hipStream_t streams[6];
    for (int i = 0; i < 6; ++i) Require(hipStreamCreate(&streams[i]));
    for (int i = 0; i < 6; ++i) Require(hipStreamDestroy(streams[i]));
  }
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[64];
  const int count = argc == 4 ? atoi(argv[1]) : 1;
  devices = argc == 4 ? atoi(argv[2]) : 1;
  long long start = Now();
  for (int d = 0; d < devices && argc == 4 && *argv[3] == 'w'; ++d) {
    hipStream_t stream;
    Require(hipSetDevice(d));
    Require(hipStreamCreate(&stream));
    Require(hipStreamDestroy(stream));
    start = Now();
  }
  for (intptr_t t = 0; t < count; ++t) {
    if (pthread_create(&threads[t], NULL, Run, (void*)t) != 0) abort();
  }
  for (int t = 0; t < count; ++t) pthread_join(threads[t], NULL);
  printf("%lld\n", Now() - start);
  return 0;
}
