/* SPDX-License-Identifier: Apache-2.0
 *
 * hip_calls CASE...: a program that knows nothing of the pool and prints what
 * HIP answers, last error included. preload_runtime_test runs it with the pool
 * beneath and without, and compares.
 */
#include <hip/hip_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Prints the call, its answer and the last error after it. */
#define SHOW(call) Show(#call, (call))
static void Show(const char* call, hipError_t answer) {
  hipError_t peeked = hipPeekAtLastError();
  hipError_t last = hipGetLastError();
  printf("%s: %d, last error %d %d\n", call, answer, peeked, last);
}

static int Milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

static void OnAnotherThread(void* (*run)(void*)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, NULL) != 0) abort();
  pthread_join(thread, NULL);
}

static hipStream_t Create(void) {
  hipStream_t stream = NULL;
  SHOW(hipStreamCreate(&stream));
  return stream;
}

static void ShowFlagsAndPriority(hipStream_t stream) {
  unsigned int flags = 99;
  int priority = 99;
  SHOW(hipStreamGetFlags(stream, &flags));
  SHOW(hipStreamGetPriority(stream, &priority));
  printf("flags %u, priority %d\n", flags, priority);
}

/* Several times: what was parked the first time is leased the second. */
#define ROUNDS 3

static void Arguments(void) {
  const unsigned int flags[] = {2, 3, 4, 0x80000000u, 0xffffffffu};
  const hipStream_t untouched = (hipStream_t)0x77;
  for (int round = 0; round < ROUNDS; ++round) {
    SHOW(hipStreamCreate(NULL));
    SHOW(hipStreamCreateWithFlags(NULL, hipStreamDefault));
    SHOW(hipStreamCreateWithFlags(NULL, 7));
    SHOW(hipStreamCreateWithPriority(NULL, hipStreamNonBlocking, 0));
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); ++i) {
      hipStream_t stream = untouched;
      SHOW(hipStreamCreateWithFlags(&stream, flags[i]));
      SHOW(hipStreamCreateWithPriority(&stream, flags[i], -1));
      printf("untouched %d\n", stream == untouched);
    }
    SHOW(hipStreamDestroy(Create()));
  }
}

static void FlagsAndPriorities(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    hipStream_t stream;
    SHOW(hipStreamCreate(&stream));
    ShowFlagsAndPriority(stream);
    SHOW(hipStreamDestroy(stream));
    for (unsigned int flags = 0; flags < 2; ++flags) {
      SHOW(hipStreamCreateWithFlags(&stream, flags));
      ShowFlagsAndPriority(stream);
      SHOW(hipStreamDestroy(stream));
      for (int priority = -100; priority <= 100; priority += 50) {
        SHOW(hipStreamCreateWithPriority(&stream, flags, priority / 40));
        ShowFlagsAndPriority(stream);
        SHOW(hipStreamDestroy(stream));
        SHOW(hipStreamCreateWithPriority(&stream, flags, priority));
        ShowFlagsAndPriority(stream);
        SHOW(hipStreamDestroy(stream));
      }
    }
  }
}

static void LastError(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    hipStream_t stream;
    /* What does a success do to an error that was there before? */
    (void)hipSetDevice(99);
    SHOW(hipStreamCreate(&stream));
    (void)hipSetDevice(99);
    SHOW(hipStreamDestroy(stream));
    (void)hipSetDevice(99);
    SHOW(hipStreamDestroy(NULL));
    (void)hipSetDevice(99);
    SHOW(hipStreamCreate(NULL));
    (void)hipSetDevice(99);
    SHOW(hipDeviceReset());
    /* And without one in between. */
    (void)hipStreamCreate(NULL);
    (void)hipStreamCreate(&stream);
    (void)hipStreamDestroy(stream);
    (void)hipStreamDestroy(NULL);
    printf("last error %d\n", hipGetLastError());
  }
}

static void DestroyedTwice(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    hipStream_t stream = Create();
    SHOW(hipStreamDestroy(stream));
    SHOW(hipStreamDestroy(stream));
    SHOW(hipStreamDestroy(stream));
    hipStream_t a = Create();
    hipStream_t b = Create();
    printf("two streams %d\n", a != b);
    SHOW(hipStreamDestroy(a));
    SHOW(hipStreamDestroy(b));
    SHOW(hipStreamDestroy(a));
  }
}

static void NeverAStream(void) {
  static char memory[4096];
  SHOW(hipStreamDestroy((hipStream_t)memory));
  SHOW(hipStreamDestroy(Create()));
  SHOW(hipStreamDestroy((hipStream_t)memory));
}

static void SpecialStreams(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    SHOW(hipStreamDestroy(NULL));
    SHOW(hipStreamDestroy((hipStream_t)1)); /* legacy */
    SHOW(hipStreamDestroy(hipStreamPerThread));
    SHOW(hipStreamQuery(hipStreamPerThread));
    SHOW(hipStreamDestroy(Create()));
    SHOW(hipStreamSynchronize(NULL));
    SHOW(hipStreamSynchronize(hipStreamPerThread));
  }
}

static int callbacks;
static void Sleep(hipStream_t stream, hipError_t error, void* milliseconds) {
  (void)stream, (void)error;
  usleep(1000 * (useconds_t)(intptr_t)milliseconds);
  ++callbacks;
}

/* hipStreamDestroy waits for the work, or not: as HIP has it. */
static void BusyDestroy(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    hipStream_t stream = Create();
    SHOW(hipStreamAddCallback(stream, Sleep, (void*)(intptr_t)200, 0));
    int start = Milliseconds();
    SHOW(hipStreamDestroy(stream));
    int waited = Milliseconds() - start;
    printf("waited %d, too long %d\n", waited > 150, waited > 1000);
    SHOW(hipDeviceSynchronize());
    printf("callbacks %d\n", callbacks);
  }
}

static void Work(void) {
  unsigned char* memory;
  unsigned char there[256];
  SHOW(hipMalloc((void**)&memory, sizeof(there)));
  for (int round = 0; round < ROUNDS; ++round) {
    hipStream_t stream;
    SHOW(hipStreamCreateWithFlags(&stream, round % 2));
    SHOW(hipMemsetAsync(memory, 17 + round, sizeof(there), stream));
    SHOW(hipMemcpyAsync(there, memory, sizeof(there), hipMemcpyDeviceToHost,
                        stream));
    SHOW(hipStreamAddCallback(stream, Sleep, (void*)(intptr_t)5, 0));
    SHOW(hipStreamSynchronize(stream));
    printf("%d %d, callbacks %d\n", there[0], there[255], callbacks);
    SHOW(hipStreamQuery(stream));
    SHOW(hipStreamDestroy(stream));
  }
  SHOW(hipFree(memory));
}

static void EventsOutliveTheirStream(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    hipEvent_t event;
    hipStream_t stream = Create();
    SHOW(hipEventCreate(&event));
    SHOW(hipEventRecord(event, stream));
    SHOW(hipStreamDestroy(stream));
    SHOW(hipEventSynchronize(event));
    SHOW(hipEventQuery(event));
    stream = Create();
    SHOW(hipStreamWaitEvent(stream, event, 0));
    SHOW(hipStreamDestroy(stream));
    SHOW(hipEventDestroy(event));
  }
}

static void ShowCapture(hipStream_t stream) {
  hipStreamCaptureStatus status = 99;
  SHOW(hipStreamIsCapturing(stream, &status));
  printf("capture status %d\n", status);
}

static void EndCapture(hipStream_t stream) {
  hipGraph_t graph = NULL;
  SHOW(hipStreamEndCapture(stream, &graph));
  printf("graph %d\n", graph != NULL);
  if (graph != NULL) SHOW(hipGraphDestroy(graph));
}

static void* CreateAndDestroy(void* unused) {
  hipStream_t a = Create();
  hipStream_t b = Create();
  SHOW(hipStreamDestroy(a));
  SHOW(hipStreamDestroy(b));
  SHOW(hipStreamDestroy(NULL));
  return unused;
}

static void WhileCapturing(hipStreamCaptureMode mode) {
  CreateAndDestroy(NULL);
  for (int round = 0; round < ROUNDS; ++round) {
    hipStream_t capturing = Create();
    SHOW(hipStreamBeginCapture(capturing, mode));
    CreateAndDestroy(NULL);
    OnAnotherThread(CreateAndDestroy);
    ShowCapture(capturing);
    EndCapture(capturing);
    ShowCapture(capturing);
    SHOW(hipStreamDestroy(capturing));
  }
}
static void CaptureGlobal(void) { WhileCapturing(hipStreamCaptureModeGlobal); }
static void CaptureThreadLocal(void) {
  WhileCapturing(hipStreamCaptureModeThreadLocal);
}
static void CaptureRelaxed(void) {
  WhileCapturing(hipStreamCaptureModeRelaxed);
}

static void CapturingStreamDestroyed(void) {
  for (int mode = 0; mode < 3; ++mode) {
    for (int round = 0; round < ROUNDS; ++round) {
      hipStream_t stream = Create();
      SHOW(hipStreamBeginCapture(stream, (hipStreamCaptureMode)mode));
      SHOW(hipStreamDestroy(stream));
      stream = Create();
      ShowCapture(stream);
      SHOW(hipStreamQuery(stream));
      SHOW(hipStreamDestroy(stream));
      SHOW(hipDeviceSynchronize());
    }
  }
}

static void CapturesSecondStreamDestroyed(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    hipEvent_t event;
    hipStream_t origin = Create();
    hipStream_t second = Create();
    SHOW(hipEventCreate(&event));
    SHOW(hipStreamBeginCapture(origin, hipStreamCaptureModeRelaxed));
    SHOW(hipEventRecord(event, origin));
    SHOW(hipStreamWaitEvent(second, event, 0));
    ShowCapture(second);
    SHOW(hipStreamDestroy(second));
    EndCapture(origin);
    SHOW(hipStreamDestroy(origin));
    SHOW(hipEventDestroy(event));
    second = Create();
    ShowCapture(second);
    SHOW(hipStreamDestroy(second));
  }
}

static void CaptureModeIsLeftAlone(void) {
  hipStreamCaptureMode mode = hipStreamCaptureModeThreadLocal;
  SHOW(hipThreadExchangeStreamCaptureMode(&mode));
  printf("mode %d\n", mode);
  SHOW(hipStreamDestroy(Create()));
  SHOW(hipStreamDestroy(Create()));
  mode = hipStreamCaptureModeGlobal;
  SHOW(hipThreadExchangeStreamCaptureMode(&mode));
  printf("mode %d\n", mode);
}

static void Reset(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    hipStream_t parked = Create();
    hipStream_t kept = Create();
    SHOW(hipStreamDestroy(parked));
    SHOW(hipDeviceReset());
    SHOW(hipStreamQuery(kept));
    SHOW(hipStreamDestroy(kept));
    SHOW(hipStreamDestroy(parked));
    hipStream_t next = Create();
    SHOW(hipStreamSynchronize(next));
    SHOW(hipStreamDestroy(next));
  }
}

static void DestroyedByAReset(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    hipStream_t stream = Create();
    SHOW(hipDeviceReset());
    SHOW(hipStreamDestroy(stream));
  }
}

static void Devices(void) {
  int devices = 0;
  SHOW(hipGetDeviceCount(&devices));
  for (int round = 0; round < ROUNDS; ++round) {
    hipStream_t of[64];
    for (int device = 0; device < devices; ++device) {
      SHOW(hipSetDevice(device));
      of[device] = Create();
    }
    for (int device = 0; device < devices; ++device) {
      /* Not the stream's device. */
      SHOW(hipSetDevice(devices - 1 - device));
      SHOW(hipStreamDestroy(of[device]));
      int current = -1;
      SHOW(hipGetDevice(&current));
      printf("device %d\n", current);
    }
    /* A reset is of one device. */
    SHOW(hipSetDevice(0));
    of[0] = Create();
    SHOW(hipSetDevice(devices - 1));
    SHOW(hipDeviceReset());
    SHOW(hipStreamQuery(of[0]));
    SHOW(hipStreamDestroy(of[0]));
  }
}

static void Contexts(void) {
  hipCtx_t context;
  for (int round = 0; round < ROUNDS; ++round) {
    int device = -1;
    SHOW(hipCtxCreate(&context, 0, 1));
    SHOW(hipGetDevice(&device));
    hipStream_t stream = Create();
    SHOW(hipCtxPopCurrent(&context));
    SHOW(hipStreamDestroy(stream));
    SHOW(hipCtxDestroy(context));
    SHOW(hipGetDevice(&device));
    printf("device %d\n", device);
    SHOW(hipDevicePrimaryCtxReset(0));
  }
}

static void CuMasks(void) {
  const uint32_t masks[] = {0x3, 0x30};
  for (int round = 0; round < ROUNDS; ++round) {
    hipStream_t masked = NULL;
    uint32_t read[8] = {0};
    SHOW(hipExtStreamCreateWithCUMask(&masked, 1, &masks[round % 2]));
    SHOW(hipExtStreamGetCUMask(masked, 8, read));
    printf("mask %x\n", read[0]);
    SHOW(hipStreamDestroy(masked));
    hipStream_t plain = Create();
    SHOW(hipExtStreamGetCUMask(plain, 8, read));
    printf("mask %x\n", read[0]);
    SHOW(hipStreamDestroy(plain));
    SHOW(hipStreamDestroy(masked));
  }
}

static void* DestroyIt(void* stream) {
  SHOW(hipStreamDestroy((hipStream_t)stream));
  return Create();
}
static void OtherThreads(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    pthread_t thread;
    void* theirs = NULL;
    if (pthread_create(&thread, NULL, DestroyIt, Create()) != 0) abort();
    pthread_join(thread, &theirs);
    SHOW(hipStreamSynchronize((hipStream_t)theirs));
    SHOW(hipStreamDestroy((hipStream_t)theirs));
  }
}

/* With SIMULATED_HSA_FAIL_ALLOCATE and ..._FAIL_QUEUE_CREATE, or no device. */
static void NothingWorks(void) {
  hipStream_t stream = NULL;
  for (int round = 0; round < ROUNDS; ++round) {
    SHOW(hipStreamCreate(&stream));
    SHOW(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    SHOW(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, -1));
    SHOW(hipStreamCreate(NULL));
    SHOW(hipStreamDestroy(NULL));
  }
}

static void OneStreamOfEachDevice(void) {
  int devices = 0;
  SHOW(hipGetDeviceCount(&devices));
  for (int round = 0; round < 10; ++round) {
    for (int device = 0; device < devices; ++device) {
      SHOW(hipSetDevice(device));
      SHOW(hipStreamDestroy(Create()));
    }
  }
}

/* For the driver calls: 112 streams, again and again. */
static void Cycle(void) {
  hipStream_t streams[112];
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 112; ++i) {
      if (hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking) != 0) {
        abort();
      }
    }
    for (int i = 0; i < 112; ++i) {
      if (hipStreamDestroy(streams[i]) != 0) abort();
    }
  }
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {
    {"Arguments", Arguments},
    {"FlagsAndPriorities", FlagsAndPriorities},
    {"LastError", LastError},
    {"DestroyedTwice", DestroyedTwice},
    {"NeverAStream", NeverAStream},
    {"SpecialStreams", SpecialStreams},
    {"BusyDestroy", BusyDestroy},
    {"Work", Work},
    {"EventsOutliveTheirStream", EventsOutliveTheirStream},
    {"CaptureGlobal", CaptureGlobal},
    {"CaptureThreadLocal", CaptureThreadLocal},
    {"CaptureRelaxed", CaptureRelaxed},
    {"CapturingStreamDestroyed", CapturingStreamDestroyed},
    {"CapturesSecondStreamDestroyed", CapturesSecondStreamDestroyed},
    {"CaptureModeIsLeftAlone", CaptureModeIsLeftAlone},
    {"Reset", Reset},
    {"DestroyedByAReset", DestroyedByAReset},
    {"Devices", Devices},
    {"Contexts", Contexts},
    {"CuMasks", CuMasks},
    {"OtherThreads", OtherThreads},
    {"NothingWorks", NothingWorks},
    {"OneStreamOfEachDevice", OneStreamOfEachDevice},
    {"Cycle", Cycle},
};

static void Run(const char* name) {
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); ++i) {
    if (strcmp(name, cases[i].name) != 0) continue;
    printf("=== %s\n", name);
    cases[i].run();
    fflush(stdout);
    return;
  }
  fprintf(stderr, "hip_calls: no case %s\n", name);
  exit(2);
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) Run(argv[i]);
  return 0;
}
