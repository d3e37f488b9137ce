/* SPDX-License-Identifier: Apache-2.0
 *
 * unmodified_client: a client that knows nothing of the pool. Creates and
 * destroys its 112 streams, 14 on each of 8 devices, by HIP's calls, again and
 * again. Prints the median milliseconds of a cycle; the first, in which HIP
 * starts, is not counted.
 */
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEVICES 8
#define STREAMS 14
#define CYCLES 11

static void Check(hipError_t error, const char* call) {
  if (error == hipSuccess) return;
  fprintf(stderr, "unmodified_client: %s: %s\n", call, hipGetErrorName(error));
  exit(1);
}
#define CHECK(call) Check((call), #call)

static double Milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static void Cycle(int devices) {
  hipStream_t streams[DEVICES * STREAMS];
  for (int i = 0; i < DEVICES * STREAMS; ++i) {
    CHECK(hipSetDevice(i / STREAMS % devices));
    CHECK(hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
  }
  for (int i = 0; i < DEVICES * STREAMS; ++i) {
    CHECK(hipStreamDestroy(streams[i]));
  }
}

static int Compare(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(void) {
  int devices = 0;
  double times[CYCLES];
  CHECK(hipGetDeviceCount(&devices));
  Cycle(devices);
  for (int i = 0; i < CYCLES; ++i) {
    const double start = Milliseconds();
    Cycle(devices);
    times[i] = Milliseconds() - start;
  }
  qsort(times, CYCLES, sizeof(*times), Compare);
  printf("%.3f\n", times[CYCLES / 2]);
  return 0;
}
