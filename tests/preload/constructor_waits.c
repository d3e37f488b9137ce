/* SPDX-License-Identifier: Apache-2.0
 *
 * constructor_waits HIP JOB PLUGIN: a program that knows nothing of the pool.
 * Opens HIP (or has linked it: "-"), and a plugin whose constructor waits for a
 * HIP call on another thread: that has used HIP before, or (JOB in capitals)
 * not. The loader's lock is held meanwhile.
 */
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hipError_t (*create)(hipStream_t*);
static hipError_t (*with_flags)(hipStream_t*, unsigned int);
static hipError_t (*with_priority)(hipStream_t*, unsigned int, int);
static hipError_t (*destroy)(hipStream_t);
static hipError_t (*reset)(void);
static hipError_t (*with_mask)(hipStream_t*, uint32_t, const uint32_t*);

static const char* job;
static hipStream_t masked; /* none of the pool's */
static pthread_t thread;
static sem_t start, ready, done;

static hipError_t DoJob(void) {
  hipStream_t stream = NULL;
  hipError_t error = hipSuccess;
  if (strcmp(job, "masked") == 0) return destroy(masked);
  if (strcmp(job, "null") == 0 || strcmp(job, "NULL") == 0) {
    return destroy(NULL);
  }
  if (strcmp(job, "reset") == 0 || strcmp(job, "RESET") == 0) return reset();
  if (strcmp(job, "flags") == 0 || strcmp(job, "FLAGS") == 0) {
    return with_flags(&stream, 7);
  }
  if (strcmp(job, "CREATE") == 0) return create(&stream);
  error = with_priority(&stream, 0, 1); /* none is parked */
  return error != hipSuccess ? error : destroy(stream);
}

static void* Run(void* unused) {
  hipStream_t stream = NULL;
  if (*job >= 'a') { /* has used HIP before */
    if (create(&stream) != hipSuccess) abort();
    if (destroy(stream) != hipSuccess) abort();
  }
  sem_post(&ready);
  sem_wait(&start);
  printf("%d\n", DoJob());
  sem_post(&done);
  return unused;
}

void WaitForJob(void) { /* the plugin's constructor calls it */
  sem_post(&start);
  sem_wait(&done);
}

static void FindFunctions(const char* path) {
  void* hip = strcmp(path, "-") == 0 ? NULL : dlopen(path, RTLD_NOW);
#define FIND(pointer, function) \
  *(void**)&pointer = hip == NULL ? (void*)function : dlsym(hip, #function)
  FIND(create, hipStreamCreate);
  FIND(with_flags, hipStreamCreateWithFlags);
  FIND(with_priority, hipStreamCreateWithPriority);
  FIND(destroy, hipStreamDestroy);
  FIND(reset, hipDeviceReset);
  FIND(with_mask, hipExtStreamCreateWithCUMask);
}

int main(int argc, char** argv) {
  const uint32_t mask = 0xff;
  hipStream_t stream = NULL;
  if (argc != 4) return 2;
  FindFunctions(argv[1]);
  job = argv[2];
  sem_init(&start, 0, 0);
  sem_init(&ready, 0, 0);
  sem_init(&done, 0, 0);
  if (create(&stream) != hipSuccess || destroy(stream) != hipSuccess) return 3;
  if (with_mask(&masked, 1, &mask) != hipSuccess) return 4;
  pthread_create(&thread, NULL, Run, NULL);
  sem_wait(&ready);
  if (dlopen(argv[3], RTLD_NOW) == NULL) puts(dlerror());
  pthread_join(thread, NULL);
  puts("end");
  return 0;
}
