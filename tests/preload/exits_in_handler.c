/* SPDX-License-Identifier: Apache-2.0
 *
 * exits_in_handler MICROSECONDS: a program that knows nothing of the pool, and
 * ends in a signal handler, in the midst of whatever it did.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static void Exit(int signal) {
  (void)signal;
  exit(0);
}

int main(int argc, char** argv) {
  void* hip = dlopen(SMALL_HIP, RTLD_NOW);
  hipError_t (*create)(hipStream_t*) = dlsym(hip, "hipStreamCreate");
  hipError_t (*destroy)(hipStream_t) = dlsym(hip, "hipStreamDestroy");
  const struct itimerval timer = {{0, 0}, {0, argc == 2 ? atoi(argv[1]) : 1}};
  signal(SIGALRM, Exit);
  for (int i = 0;; ++i) {
    hipStream_t stream = NULL;
    if (create(&stream) != hipSuccess || destroy(stream) != hipSuccess) {
      abort();
    }
    if (i == 0) setitimer(ITIMER_REAL, &timer, NULL);
    fprintf(stderr, "%s", ""); /* stdio has a lock too */
  }
}
