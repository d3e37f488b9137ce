// SPDX-License-Identifier: Apache-2.0
//
// The functions that this library puts in the place of HIP's, for a program
// that knows nothing of the pool. What the program can see stays HIP's: where
// the pool can't or needn't answer, HIP itself is called as the program called
// it, and its answer, last error included, is the answer.
#include "preload/interposed_calls.h"

#include "hip/call_guard.h"
#include "hip/hip_runtime_api.h"
#include "hip/result.h"
#include "preload/definitions.h"
#include "preload/environment.h"
#include "preload/real_hip.h"
#include "preload/summary.h"
#include "process_pool.h"

namespace hip_stream_pool {
namespace {

// Where a call goes that the pool does not answer.
struct Route {
  void* function;  // nullptr: nowhere
  Function which;
  bool is_hips;  // a libamdhip64 has it

  bool IsOf(const RealHip* hip) const {
    return hip != nullptr && function == hip->own[which];
  }
};

// One HIP's streams are not another's.
void NoticeHips(bool several) {
  if (several && IsSwitchedOn()) StandAside(kSecondHip);
}

Route RouteOfCaller(Function which, const void* caller) {
  const Definition definition = FindForCaller(which, caller);
  NoticeHips(definition.several_hips);
  if (definition.function == nullptr) {
    StandAside("the program calls HIP, and none is loaded");
  }
  return {definition.function, which, definition.is_hips};
}

Route RouteToHip(Function which) {
  NoticeHips(AreThereSeveralHips());
  return {KnownRealHip()->own[which], which, true};
}

// nullptr if no stream is to be taken from the pool.
const RealHip* HipToCreateOn(const Route& route) {
  if (!route.is_hips || !IsSwitchedOn() || !MayCallHip()) return nullptr;
  const RealHip* hip = GetRealHip(route.function);
  return route.IsOf(hip) && !StandsAside() ? hip : nullptr;
}

template <typename Next>
hipError_t Create(const Route& route, hipStream_t* stream, unsigned int flags,
                  int priority, const Next& next) {
  const bool good_arguments =
      stream != nullptr &&
      (flags == hipStreamDefault || flags == hipStreamNonBlocking);
  const RealHip* hip = good_arguments ? HipToCreateOn(route) : nullptr;
  if (hip == nullptr) return next();
  Pool& pool = ProcessPool();
  const bool hip_starts = pool.device_count() == 0;
  Stopwatch stopwatch;
  int device = 0;
  const hipError_t error = hip->functions.hipGetDevice.call(&device);
  // If HIP can't start, the first call of all is told so, and no other: it
  // would have been the program's.
  if (error == hipErrorInvalidDevice) return error;
  if (error != hipSuccess || !pool.Start().ok()) return next();
  if (hip_starts) stopwatch = Stopwatch();  // it would have anyway
  Lease lease;
  const Result result = pool.Acquire({device, flags, priority}, &lease);
  summary.Add(Summary::kCreate, result.ok() && lease.was_parked, stopwatch);
  if (!result.ok()) return next();
  *stream = lease.stream;
  return hipSuccess;
}

// What HIP answers, last error included, when asked to destroy a stream that
// does not exist; hipSuccess if this one does, or HIP can't tell. From 7.0 on
// hipStreamDestroy itself does not check. hipStreamGetDevice does, with the
// same answer, in every version that has it.
hipError_t CheckExists(const RealHip& hip, hipStream_t stream) {
  hipDevice_t device = 0;
  const auto& get_device = hip.functions.hipStreamGetDevice;
  return get_device ? get_device.call(stream, &device) : hipSuccess;
}

// The same answer where the stream does exist and is the pool's.
hipError_t AnswerForDeadStream(const RealHip& hip) {
  alignas(64) static char no_stream[64];
  const auto stream = reinterpret_cast<hipStream_t>(no_stream);
  const hipError_t error = CheckExists(hip, stream);
  return error != hipSuccess ? error
                             : hip.functions.hipStreamDestroy.call(stream);
}

// HIP before 5.6 makes a thread's records of captures, and takes the loader's
// lock for it, in the first of the thread's calls that looks at them, such as
// hipStreamDestroy. A later call, which a constructor waits for, does not then.
// Where the pool destroys in HIP's place, hipFree of nothing has it done now.
void MakeRecordsOfCaptures(const RealHip& hip) {
  thread_local bool are_made = false;
  if (are_made || hip.functions.hipStreamGetDevice || !hip.hipFree) return;
  are_made = true;
  const auto& exchange = hip.functions.hipThreadExchangeStreamCaptureMode;
  hipStreamCaptureMode mode = hipStreamCaptureModeThreadLocal;  // looks at them
  if (exchange.call(&mode) != hipSuccess) return;
  (void)hip.hipFree.call(nullptr);
  (void)exchange.call(&mode);
}

template <typename Next>
hipError_t Destroy(const Route& route, hipStream_t stream, const Next& next) {
  const RealHip* hip = KnownRealHip();
  if (!route.IsOf(hip) || !MayCallHip()) return next();
  Pool& pool = ProcessPool();
  const Stopwatch stopwatch;
  const Returned returned =
      pool.TakeBack(stream, StandsAside() ? 0 : pool.max_parked_per_key());
  const bool is_parked =
      returned == Returned::kParked || returned == Returned::kParkedAfterWait;
  if (is_parked) MakeRecordsOfCaptures(*hip);
  // HIP would have waited too.
  if (returned == Returned::kParkedAfterWait) return hipSuccess;
  summary.Add(Summary::kDestroy, is_parked, stopwatch);
  if (is_parked) return hipSuccess;
  if (returned == Returned::kNotOurs) return next();
  if (returned == Returned::kParkedBefore || returned == Returned::kAnothers) {
    return AnswerForDeadStream(*hip);
  }
  const hipError_t error = CheckExists(*hip, stream);
  if (SaysNoSuchStream(error)) return error;
  return hip->functions.hipStreamDestroy.call(stream);
}

template <typename Next>
hipError_t Reset(const Route& route, const Next& next) {
  const hipError_t error = next();
  // Not before: a stream that is created meanwhile would die unseen.
  const RealHip* hip = KnownRealHip();
  int device = 0;
  if (error == hipSuccess && route.IsOf(hip) && MayCallHip() &&
      hip->functions.hipGetDevice.call(&device) == hipSuccess) {
    ProcessPool().Invalidate(device);
    summary.NoteReset(device);
  }
  return error;
}

}  // namespace
}  // namespace hip_stream_pool

using hip_stream_pool::Create;
using hip_stream_pool::Destroy;
using hip_stream_pool::Reset;
using hip_stream_pool::Route;

// NOLINTBEGIN(bugprone-macro-parentheses): names and lists.
// A function of HIP's, twice, and a name for the exported one that no program
// can take. `answer` is what both do.
#define INTERPOSE(name, which, parameters, arguments, answer)                \
  extern "C" __attribute__((visibility("default")))                          \
  hipError_t name parameters {                                               \
    const Route route = hip_stream_pool::RouteOfCaller(                      \
        hip_stream_pool::which, __builtin_return_address(0));                \
    const auto next = NEXT(name, arguments);                                 \
    return answer;                                                           \
  }                                                                          \
  extern "C" __attribute__((visibility("hidden")))                           \
  hipError_t pooled_##name parameters {                                      \
    const Route route = hip_stream_pool::RouteToHip(hip_stream_pool::which); \
    const auto next = NEXT(name, arguments);                                 \
    return answer;                                                           \
  }                                                                          \
  extern "C" __attribute__((visibility("hidden"), alias(#name)))             \
  hipError_t exported_##name parameters;
#define NEXT(name, arguments)                                        \
  [&] {                                                              \
    return route.function == nullptr                                 \
               ? hipErrorSharedObjectSymbolNotFound                  \
               : reinterpret_cast<decltype(&::name)>(route.function) \
                     arguments;                                      \
  }

// NOLINTEND(bugprone-macro-parentheses)

INTERPOSE(hipStreamCreate, kStreamCreate, (hipStream_t * stream), (stream),
          Create(route, stream, hipStreamDefault, 0, next))
INTERPOSE(hipStreamCreateWithFlags, kStreamCreateWithFlags,
          (hipStream_t * stream, unsigned int flags), (stream, flags),
          Create(route, stream, flags, 0, next))
INTERPOSE(hipStreamCreateWithPriority, kStreamCreateWithPriority,
          (hipStream_t * stream, unsigned int flags, int priority),
          (stream, flags, priority),
          Create(route, stream, flags, priority, next))
INTERPOSE(hipStreamDestroy, kStreamDestroy, (hipStream_t stream), (stream),
          Destroy(route, stream, next))
INTERPOSE(hipDeviceReset, kDeviceReset, (), (), Reset(route, next))

namespace hip_stream_pool {

Interposed InterposedFor(Function function) {
#define BOTH(function)                             \
  {                                                \
    reinterpret_cast<void*>(exported_##function),  \
        reinterpret_cast<void*>(pooled_##function) \
  }
  static const Interposed all[kFunctions] = {
      BOTH(hipStreamCreate), BOTH(hipStreamCreateWithFlags),
      BOTH(hipStreamCreateWithPriority), BOTH(hipStreamDestroy),
      BOTH(hipDeviceReset)};
#undef BOTH
  return all[function];
}

}  // namespace hip_stream_pool
