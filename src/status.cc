// SPDX-License-Identifier: Apache-2.0
#include "status.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "hip/call_guard.h"
#include "hip/hip.h"
#include "process_pool.h"

namespace hip_stream_pool {
namespace {

constexpr absl::StatusCode kBadArgument = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kBadMoment = absl::StatusCode::kFailedPrecondition;

// What an error of HIP means, and what to do.
struct Meaning {
  absl::StatusCode code;
  absl::string_view words;
};

Meaning MeaningOf(hipError_t error) {
  switch (error) {
    case hipErrorOutOfMemory:
      return {absl::StatusCode::kResourceExhausted,
              ": the device is out of memory or of hardware queues"};
    case hipErrorInvalidDevice:
      return {kBadArgument, ""};
    case hipErrorNoDevice:
      return {kBadMoment, ": HIP sees no GPU"};
    case hipErrorContextIsDestroyed:
    case hipErrorInvalidHandle:
      return {kBadMoment,
              ": HIP does not know this stream or event, or it is another "
              "device's"};
    case hipErrorStreamCaptureUnsupported:
    case hipErrorStreamCaptureInvalidated:
    case hipErrorStreamCaptureImplicit:
    case hipErrorStreamCaptureUnjoined:
    case hipErrorStreamCaptureIsolation:
    case hipErrorStreamCaptureMerge:
    case hipErrorStreamCaptureUnmatched:
    case hipErrorStreamCaptureWrongThread:
    case hipErrorCapturedEvent:
      return {kBadMoment, ": a stream capture is in the way"};
    default:
      return {absl::StatusCode::kInternal, ""};
  }
}

absl::string_view WhyNoHip() {
  return IsForkedChild() ? "HIP does not work in a child that was forked after "
                           "it had started"
                         : "the process exits; HIP may be gone already";
}

// Of the refusals that take no more than words.
struct {
  Refusal refusal;
  absl::StatusCode code;
  absl::string_view words;
} constexpr kRefusals[] = {
    {Refusal::kBadFlags, kBadArgument,
     "flags must be hipStreamDefault (0) or hipStreamNonBlocking (1)"},
    {Refusal::kSpecialStream, kBadArgument,
     "the null, legacy and per-thread streams are HIP's own"},
    {Refusal::kLegacyStream, kBadArgument,
     "the legacy stream's handle; nullptr names the default stream"},
    {Refusal::kPerThreadStream, kBadArgument,
     "the per-thread stream's handle, which is another stream on each thread"},
    {Refusal::kNoSuchStream, kBadMoment,
     "the stream was destroyed elsewhere; its handle may be another's"},
    {Refusal::kInvalidated, kBadMoment,
     "the stream does not exist any more: its device was reset"},
    {Refusal::kParked, kBadMoment,
     "the stream was destroyed before; it belongs to the pool now"},
    {Refusal::kAnotherDevices, kBadArgument,
     "the stream is another device's; nothing was done"},
    {Refusal::kCapturing, kBadMoment,
     "the stream is in a stream capture, which this would break"},
    {Refusal::kReadsAnotherKey, kBadMoment,
     "the stream reads another key than it was made with"},
};

struct {
  Mistake mistake;
  absl::StatusCode code;
  absl::string_view words;
} constexpr kMistakes[] = {
    {Mistake::kOwnsNothing, kBadMoment,
     "the RocmStream owns no stream: it was moved from, or released"},
    {Mistake::kNoCallback, kBadArgument, "the callback is empty"},
    {Mistake::kNoSetStream, kBadArgument,
     "no function to set the library's stream"},
    {Mistake::kNoEvent, kBadArgument, "the event is nullptr"},
    {Mistake::kNotAnError, kBadArgument, "takes an error, not OK"},
    {Mistake::kEventIsDecided, kBadMoment,
     "the event was recorded, or failed, before; that stands"},
    {Mistake::kBufferHasEvent, kBadMoment,
     "the buffer has an event, which stands"},
    {Mistake::kNullCopy, kBadArgument, "a copy to or from nullptr"},
    {Mistake::kCopyWithin, kBadArgument,
     "a copy within one buffer would wait for itself"},
    {Mistake::kPromiseDropped, absl::StatusCode::kCancelled,
     "the event was dropped before it was recorded"},
    {Mistake::kDeviceWasReset, kBadMoment, "the device was reset"},
};

absl::Status Refuse(const Result& result, const Called& called,
                    absl::string_view start) {
  switch (result.refusal) {
    case Refusal::kNoHip:
      return {kBadMoment, absl::StrCat(start, WhyNoHip())};
    case Refusal::kNoSuchDevice:
      return {kBadArgument,
              absl::StrCat(start, "no device ", called.key.device_ordinal,
                           ": HIP has ", ProcessPool().device_count(),
                           ", counted from 0")};
    case Refusal::kTooManyToPrewarm:
      return {kBadArgument, absl::StrCat(start, "named more than ",
                                         ProcessPool().max_parked_per_key(),
                                         " times; SetMaxParkedPerKey allows "
                                         "more")};
    default:
      break;
  }
  for (const auto& known : kRefusals) {
    if (known.refusal != result.refusal) continue;
    // The call that has shown it, if it took one.
    return {known.code,
            absl::StrCat(start, known.words,
                         *result.call == '\0' ? "" : " after ", result.call)};
  }
  return absl::InternalError(start);
}

std::string NameOf(hipError_t error) {
  HipFunctions functions;
  const Hip* known = KnownHip();
  if (known != nullptr) {
    functions = known->functions;
  } else {
    FindHipFunctions(functions);
  }
  HipCallGuard guard;
  return guard.may_call() && functions.hipGetErrorName
             ? functions.hipGetErrorName.call(error)
             : "error";
}

}  // namespace

absl::Status Failure(const Result& result, const Called& called) {
  const std::string arguments =
      called.has_key ? ToString(called.key)
                     : absl::StrCat("device ", called.key.device_ordinal);
  const std::string start =
      absl::StrCat(called.function, "(", arguments, "): ");
  if (result.refusal != Refusal::kNone) {
    return Refuse(result, called, start);
  }
  const Meaning meaning = MeaningOf(result.error);
  return absl::Status(
      meaning.code,
      absl::StrCat(start, result.call, " failed: ", NameOf(result.error), " = ",
                   static_cast<int>(result.error), meaning.words));
}

absl::Status ToStatus(Mistake mistake, const char* function) {
  if (mistake == Mistake::kNoHip) {
    return {kBadMoment, absl::StrCat(function, ": ", WhyNoHip())};
  }
  for (const auto& known : kMistakes) {
    if (known.mistake != mistake) continue;
    return {known.code, absl::StrCat(function, ": ", known.words)};
  }
  return absl::InternalError(function);
}

absl::Status TooManyBytes(const char* function, size_t bytes, size_t from,
                          size_t size) {
  return absl::Status(kBadArgument,
                      absl::StrCat(function, ": ", bytes, " bytes from ", from,
                                   " of a buffer of ", size, " bytes"));
}

}  // namespace hip_stream_pool
