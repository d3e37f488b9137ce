// SPDX-License-Identifier: Apache-2.0
//
// The functions that this library puts in the place of HIP's, for a program
// that knows nothing of the pool. What the program can see stays HIP's: where
// the pool can't or needn't answer, HIP itself is called as the program called
// it, and its answer, last error included, is the answer.
#include <tuple>

#include "absl/status/statusor.h"
#include "devices.h"
#include "hip/hip_runtime_api.h"
#include "hip_scope.h"
#include "max_parked.h"
#include "preload/environment.h"
#include "preload/next_definition.h"
#include "preload/real_hip.h"
#include "preload/summary.h"
#include "process_lifetime.h"

namespace hip_stream_pool {
namespace {

using TakenBack = DeviceStreams::TakenBack;

// A call as the program made it, on to where it would have gone.
template <typename... Parameters>
class NextCall {
 public:
  NextCall(const char* name, const void* caller,
           hipError_t (*)(Parameters...) /*only its type*/,
           Parameters... arguments)
      : name_(name), caller_(caller), arguments_(arguments...) {}

  hipError_t operator()() const {
    const auto next = reinterpret_cast<hipError_t (*)(Parameters...)>(
        FindForCaller(caller_, name_));
    if (next == nullptr) {
      StandAside("the program calls HIP, and there is none");
      return hipErrorSharedObjectSymbolNotFound;
    }
    return std::apply(next, arguments_);
  }

 private:
  const char* name_;
  const void* caller_;
  std::tuple<Parameters...> arguments_;
};

// In the function that the program called.
#define NEXT_CALL(function, ...) \
  NextCall(#function, __builtin_return_address(0), function, ##__VA_ARGS__)

// nullptr if no stream is to be taken from the pool.
const RealHip* HipToCreateOn() {
  if (!IsSwitchedOn() || !MayCallHip()) return nullptr;
  const RealHip* hip = GetRealHip();
  if (hip == nullptr) return nullptr;
  // One HIP's streams are not another's, and whose the caller means can't be
  // told at once.
  if (!hip->in_global_scope && AreThereSeveralHips()) {
    StandAside("several libamdhip64 are loaded");
  }
  return StandsAside() ? nullptr : hip;
}

template <typename Next>
hipError_t Create(hipStream_t* stream, unsigned int flags, int priority,
                  const Next& next) {
  const bool good_arguments =
      stream != nullptr &&
      (flags == hipStreamDefault || flags == hipStreamNonBlocking);
  const RealHip* hip = good_arguments ? HipToCreateOn() : nullptr;
  int device = 0;
  if (hip == nullptr || hip->hipGetDevice(&device) != hipSuccess) {
    return next();
  }
  Devices* devices = nullptr;
  if (!GetDevicesWith(device, &devices).ok()) return next();
  const Stopwatch stopwatch;
  uint64_t lease = 0;  // the program knows the handle alone
  bool was_reused = false;
  absl::StatusOr<hipStream_t> made = devices->streams[device]->Create(
      {device, flags, priority}, &lease, &was_reused);
  if (!made.ok()) return next();
  Summary::Get().Add(was_reused ? Summary::kHit : Summary::kMiss, stopwatch);
  *stream = *made;
  return hipSuccess;
}

// Of a stream that may be any device's. kUnknown: none of the pool's.
TakenBack TakeBack(hipStream_t stream) {
  Devices* devices = KnownDevices();
  if (devices == nullptr) return TakenBack::kUnknown;
  // Mostly the same one as last time.
  thread_local int last = 0;
  const int limit = StandsAside() ? 0 : MaxParked();
  for (int i = 0; i < devices->count; ++i) {
    const int device = (last + i) % devices->count;
    const TakenBack taken = devices->streams[device]->TakeBack(stream, limit);
    if (taken != TakenBack::kUnknown) {
      last = device;
      return taken;
    }
  }
  return TakenBack::kUnknown;
}

// What HIP answers, last error included, when asked to destroy a stream that
// does not exist; hipSuccess if this one does, or HIP can't tell. From 7.0 on
// hipStreamDestroy itself does not check. hipStreamGetDevice does, with the
// same answer, in every version that has it.
hipError_t CheckExists(const RealHip& hip, hipStream_t stream) {
  hipDevice_t device = 0;
  return hip.hipStreamGetDevice == nullptr
             ? hipSuccess
             : hip.hipStreamGetDevice(stream, &device);
}

// The same answer where the stream does exist and is the pool's.
hipError_t AnswerForDeadStream(const RealHip& hip) {
  alignas(64) static char no_stream[64];
  const auto stream = reinterpret_cast<hipStream_t>(no_stream);
  const hipError_t error = CheckExists(hip, stream);
  return error != hipSuccess ? error : hip.hipStreamDestroy(stream);
}

template <typename Next>
hipError_t Destroy(hipStream_t stream, const Next& next) {
  const RealHip* hip = KnownRealHip();
  if (hip == nullptr || !MayCallHip()) return next();
  const Stopwatch stopwatch;
  switch (TakeBack(stream)) {
    case TakenBack::kUnknown:
      return next();
    case TakenBack::kParked:
      Summary::Get().Add(Summary::kParked, stopwatch);
      return hipSuccess;
    case TakenBack::kParkedAfterWait:
      return hipSuccess;
    case TakenBack::kParkedBefore:
      return AnswerForDeadStream(*hip);
    case TakenBack::kLeftToCaller:
      break;
  }
  hipError_t error = CheckExists(*hip, stream);
  if (SaysNoSuchStream(error)) return error;
  const Stopwatch of_destroy;
  error = hip->hipStreamDestroy(stream);
  if (error == hipSuccess) Summary::Get().Add(Summary::kDestroyed, of_destroy);
  return error;
}

template <typename Next>
hipError_t Reset(const Next& next) {
  // In this order: with the devices, HIP is known.
  Devices* devices = MayCallHip() ? KnownDevices() : nullptr;
  const RealHip* hip = KnownRealHip();
  int device = -1;
  if (devices != nullptr && hip->hipGetDevice(&device) != hipSuccess) {
    device = -1;
  }
  const hipError_t error = next();
  // Not before: a stream that is created meanwhile would die unseen.
  if (error == hipSuccess && devices != nullptr) devices->Invalidate(device);
  return error;
}

}  // namespace
}  // namespace hip_stream_pool

#define EXPORTED extern "C" __attribute__((visibility("default")))

using hip_stream_pool::Create;
using hip_stream_pool::NextCall;

EXPORTED hipError_t hipStreamCreate(hipStream_t* stream) {
  return Create(stream, hipStreamDefault, 0,
                NEXT_CALL(hipStreamCreate, stream));
}

EXPORTED hipError_t hipStreamCreateWithFlags(hipStream_t* stream,
                                             unsigned int flags) {
  return Create(stream, flags, 0,
                NEXT_CALL(hipStreamCreateWithFlags, stream, flags));
}

EXPORTED hipError_t hipStreamCreateWithPriority(hipStream_t* stream,
                                                unsigned int flags,
                                                int priority) {
  return Create(
      stream, flags, priority,
      NEXT_CALL(hipStreamCreateWithPriority, stream, flags, priority));
}

EXPORTED hipError_t hipStreamDestroy(hipStream_t stream) {
  return hip_stream_pool::Destroy(stream, NEXT_CALL(hipStreamDestroy, stream));
}

EXPORTED hipError_t hipDeviceReset() {
  return hip_stream_pool::Reset(NEXT_CALL(hipDeviceReset));
}
