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

absl::Status Refuse(const Result& result, const Called& called,
                    absl::string_view start) {
  const auto say = [&](absl::StatusCode code, const auto&... words) {
    return absl::Status(code, absl::StrCat(start, words...));
  };
  switch (result.refusal) {
    case Refusal::kNone:
      break;
    case Refusal::kNoHip:
      return say(kBadMoment, WhyNoHip());
    case Refusal::kNoSuchDevice:
      return say(kBadArgument, "no device ", called.key.device_ordinal,
                 ": HIP has ", ProcessPool().device_count(),
                 ", counted from 0");
    case Refusal::kBadFlags:
      return say(kBadArgument,
                 "flags must be hipStreamDefault (0) or hipStreamNonBlocking "
                 "(1)");
    case Refusal::kTooManyToPrewarm:
      return say(kBadArgument, "named more than ",
                 ProcessPool().max_parked_per_key(),
                 " times; SetMaxParkedPerKey allows more");
    case Refusal::kSpecialStream:
      return say(kBadArgument,
                 "the null, legacy and per-thread streams are HIP's own");
    case Refusal::kLegacyStream:
      return say(kBadArgument,
                 "the legacy stream's handle; nullptr names the default "
                 "stream");
    case Refusal::kPerThreadStream:
      return say(kBadArgument,
                 "the per-thread stream's handle, which is another stream on "
                 "each thread");
    case Refusal::kNoSuchStream:
      return say(kBadMoment,
                 "the stream was destroyed elsewhere; its handle may be "
                 "another's");
    case Refusal::kInvalidated:
      return say(kBadMoment,
                 "the stream does not exist any more: its device was reset");
    case Refusal::kParked:
      return say(kBadMoment,
                 "the stream was destroyed before; it belongs to the pool now");
    case Refusal::kAnotherDevices:
      return say(kBadArgument,
                 "the stream is another device's; nothing was done",
                 *result.call == '\0' ? "" : " after ", result.call);
    case Refusal::kCapturing:
      return say(kBadMoment,
                 "the stream is in a stream capture, which this would break");
    case Refusal::kReadsAnotherKey:
      return say(kBadMoment,
                 "the stream reads another key than it was made "
                 "with");
  }
  return absl::OkStatus();
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
  const auto say = [&](absl::StatusCode code, absl::string_view words) {
    return absl::Status(code, absl::StrCat(function, ": ", words));
  };
  switch (mistake) {
    case Mistake::kNoHip:
      return say(kBadMoment, WhyNoHip());
    case Mistake::kOwnsNothing:
      return say(kBadMoment,
                 "the RocmStream owns no stream: it was moved from, or "
                 "released");
    case Mistake::kNoCallback:
      return say(kBadArgument, "the callback is empty");
    case Mistake::kNoSetStream:
      return say(kBadArgument, "no function to set the library's stream");
    case Mistake::kNoEvent:
      return say(kBadArgument, "the event is nullptr");
    case Mistake::kNotAnError:
      return say(kBadArgument, "takes an error, not OK");
    case Mistake::kEventIsDecided:
      return say(kBadMoment,
                 "the event was recorded, or failed, before; that stands");
    case Mistake::kBufferHasEvent:
      return say(kBadMoment, "the buffer has an event, which stands");
    case Mistake::kNullCopy:
      return say(kBadArgument, "a copy to or from nullptr");
    case Mistake::kCopyWithin:
      return say(kBadArgument,
                 "a copy within one buffer would wait for itself");
    case Mistake::kPromiseDropped:
      return say(absl::StatusCode::kCancelled,
                 "the event was dropped before it was recorded");
    case Mistake::kDeviceWasReset:
      return say(kBadMoment, "the device was reset");
  }
  return absl::OkStatus();
}

absl::Status TooManyBytes(const char* function, size_t bytes, size_t from,
                          size_t size) {
  return absl::Status(kBadArgument,
                      absl::StrCat(function, ": ", bytes, " bytes from ", from,
                                   " of a buffer of ", size, " bytes"));
}

}  // namespace hip_stream_pool
