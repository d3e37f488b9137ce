/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that knows nothing of the pool: 16 threads on all devices create,
 * use and destroy streams. No stream may have two owners.
 */
#include <hip/hip_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 16
#define ROUNDS 30
#define STREAMS 4

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static hipStream_t owned[THREADS][STREAMS];
static int devices;

static void Require(int condition, const char* what) {
  if (condition) return;
  printf("failed: %s\n", what);
  exit(1);
}
#define REQUIRE_HIP(call) Require((call) == hipSuccess, #call)

static void Own(int thread, int i, hipStream_t stream) {
  pthread_mutex_lock(&mutex);
  for (int t = 0; stream != NULL && t < THREADS; ++t) {
    for (int s = 0; s < STREAMS; ++s) {
      Require(owned[t][s] != stream, "two owners");
    }
  }
  owned[thread][i] = stream;
  pthread_mutex_unlock(&mutex);
}

static void Count(hipStream_t stream, hipError_t error, void* count) {
  (void)stream, (void)error;
  ++*(int*)count;
}

static void* Run(void* argument) {
  const int thread = (int)(intptr_t)argument;
  void* memory = NULL;
  REQUIRE_HIP(hipSetDevice(thread % devices));
  REQUIRE_HIP(hipMalloc(&memory, 64));
  for (int round = 0; round < ROUNDS; ++round) {
    hipStream_t streams[STREAMS];
    int callbacks[STREAMS] = {0};
    /* Or busy when it is destroyed, for which HIP 5.7 does not always wait. */
    const int waits = round % 2 == 0;
    for (int i = 0; i < STREAMS; ++i) {
      REQUIRE_HIP(hipStreamCreateWithPriority(&streams[i], i % 2, i - 1));
      Own(thread, i, streams[i]);
      REQUIRE_HIP(hipMemsetAsync(memory, i, 64, streams[i]));
      if (!waits) continue;
      REQUIRE_HIP(hipStreamAddCallback(streams[i], Count, &callbacks[i], 0));
    }
    for (int i = 0; i < STREAMS; ++i) {
      if (waits) REQUIRE_HIP(hipStreamSynchronize(streams[i]));
      Own(thread, i, NULL);
      REQUIRE_HIP(hipStreamDestroy(streams[i]));
      Require(callbacks[i] == waits, "a callback outlived its stream");
    }
  }
  REQUIRE_HIP(hipFree(memory));
  int device = -1;
  REQUIRE_HIP(hipGetDevice(&device));
  Require(device == thread % devices, "the device changed");
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  REQUIRE_HIP(hipGetDeviceCount(&devices));
  for (intptr_t t = 0; t < THREADS; ++t) {
    Require(pthread_create(&threads[t], NULL, Run, (void*)t) == 0, "a thread");
  }
  for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], NULL);
  printf("%d devices, done\n", devices);
  return 0;
}
