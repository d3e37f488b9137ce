/* SPDX-License-Identifier: Apache-2.0
 *
 * A HIP with streams of its own, for tests of what the loader finds: the whole
 * that the pool needs, or (LACKS_MOST) not. It takes another HIP's stream for
 * the end, gives out a handle again at once, and can be unloaded.
 * SMALL_HIP_CANNOT_START in the environment: it has no device, and says of that
 * something else to the first call, as HIP does.
 */
#include <hip/hip_runtime_api.h>
#include <stdlib.h>

static struct Stream {
  int exists;
  unsigned int flags;
  int priority;
} streams[1024];
#define COUNT (sizeof(streams) / sizeof(*streams))

static hipError_t Start(void) {
  static int calls;
  if (getenv("SMALL_HIP_CANNOT_START") == NULL) return hipSuccess;
  return calls++ == 0 ? hipErrorInvalidDevice : hipErrorNoDevice;
}
#define START()                            \
  do {                                     \
    const hipError_t error = Start();      \
    if (error != hipSuccess) return error; \
  } while (0)

static hipError_t Create(hipStream_t* stream, unsigned int flags,
                         int priority) {
  START();
  if (stream == NULL || flags > 1) return hipErrorInvalidValue;
  for (size_t i = 0; i < COUNT; ++i) {
    if (streams[i].exists) continue;
    streams[i] = (struct Stream){1, flags, priority};
    *stream = (hipStream_t)&streams[i];
    return hipSuccess;
  }
  return hipErrorOutOfMemory;
}

/* Another HIP's stream is the end. */
static struct Stream* Find(hipStream_t stream) {
  struct Stream* given = (struct Stream*)stream;
  if (given < streams || given >= streams + COUNT) abort();
  return given;
}

static hipError_t Destroy(hipStream_t stream) {
  START();
  if (stream == NULL) return hipErrorInvalidHandle;
  if (!Find(stream)->exists) return hipErrorContextIsDestroyed;
  Find(stream)->exists = 0;
  return hipSuccess;
}

static hipError_t Check(hipStream_t stream) {
  START();
  return Find(stream)->exists ? hipSuccess : hipErrorContextIsDestroyed;
}

/* As the program calls them where the preloaded library can't see it. */
hipError_t DestroyUnseen(hipStream_t stream) { return Destroy(stream); }
int CountStreams(void) {
  int count = 0;
  for (size_t i = 0; i < COUNT; ++i) count += streams[i].exists;
  return count;
}

hipError_t hipStreamCreate(hipStream_t* stream) { return Create(stream, 0, 0); }
hipError_t hipStreamDestroy(hipStream_t stream) { return Destroy(stream); }
hipError_t hipStreamQuery(hipStream_t stream) { return Check(stream); }

#ifndef LACKS_MOST
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
  return Create(stream, flags, 0);
}
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned int flags,
                                       int priority) {
  return Create(stream, flags, priority);
}
hipError_t hipDeviceReset(void) {
  START();
  for (size_t i = 0; i < COUNT; ++i) streams[i].exists = 0;
  return hipSuccess;
}
hipError_t hipStreamSynchronize(hipStream_t stream) { return Check(stream); }
/* Of HIP 5.6. Any address may be asked about. */
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device) {
  struct Stream* given = (struct Stream*)stream;
  START();
  *device = 0;
  return given >= streams && given < streams + COUNT && given->exists
             ? hipSuccess
             : hipErrorContextIsDestroyed;
}
hipError_t hipStreamGetFlags(hipStream_t stream, unsigned int* flags) {
  *flags = Find(stream)->flags;
  return Check(stream);
}
hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
  *priority = Find(stream)->priority;
  return Check(stream);
}
hipError_t hipStreamIsCapturing(hipStream_t stream,
                                hipStreamCaptureStatus* status) {
  *status = hipStreamCaptureStatusNone;
  return Check(stream);
}
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  static _Thread_local hipStreamCaptureMode now;
  const hipStreamCaptureMode before = now;
  START();
  now = *mode;
  *mode = before;
  return hipSuccess;
}
hipError_t hipGetDevice(int* device) {
  START();
  *device = 0;
  return hipSuccess;
}
hipError_t hipSetDevice(int device) {
  START();
  return device == 0 ? hipSuccess : hipErrorInvalidDevice;
}
hipError_t hipRuntimeGetVersion(int* version) {
  *version = HIP_VERSION;
  return hipSuccess;
}
hipError_t hipGetDeviceCount(int* count) {
  START();
  *count = 1;
  return hipSuccess;
}
hipError_t hipGetLastError(void) { return hipSuccess; }
hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 1;
  *greatest = -1;
  return hipSuccess;
}
const char* hipGetErrorName(hipError_t error) {
  return error == hipSuccess ? "hipSuccess" : "an error";
}
/* The pool looks for these, and the preloaded library never calls them. */
#define UNUSED(function, parameters) \
  hipError_t function parameters { return hipErrorUnknown; }
#pragma GCC diagnostic ignored "-Wunused-parameter"
UNUSED(hipEventCreateWithFlags, (hipEvent_t * event, unsigned int flags))
UNUSED(hipEventDestroy, (hipEvent_t event))
UNUSED(hipEventQuery, (hipEvent_t event))
UNUSED(hipEventRecord, (hipEvent_t event, hipStream_t stream))
UNUSED(hipMemcpyAsync, (void* to, const void* from, size_t size,
                        hipMemcpyKind kind, hipStream_t stream))
UNUSED(hipStreamAddCallback, (hipStream_t stream, hipStreamCallback_t callback,
                              void* data, unsigned int flags))
UNUSED(hipStreamWaitEvent,
       (hipStream_t stream, hipEvent_t event, unsigned int flags))
#endif
