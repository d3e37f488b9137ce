// SPDX-License-Identifier: Apache-2.0
#include "hip_result.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "process_lifetime.h"

namespace hip_stream_pool {
namespace {

absl::StatusCode CodeOf(hipError_t error) {
  switch (error) {
    case hipSuccess:
      return absl::StatusCode::kOk;
    case hipErrorOutOfMemory:
      return absl::StatusCode::kResourceExhausted;
    case hipErrorInvalidDevice:
      return absl::StatusCode::kInvalidArgument;
    case hipErrorNoDevice:
    case hipErrorContextIsDestroyed:
    case hipErrorInvalidHandle:
    case hipErrorStreamCaptureUnsupported:
    case hipErrorStreamCaptureInvalidated:
    case hipErrorStreamCaptureImplicit:
    case hipErrorStreamCaptureUnjoined:
    case hipErrorStreamCaptureIsolation:
    case hipErrorStreamCaptureMerge:
    case hipErrorStreamCaptureUnmatched:
    case hipErrorStreamCaptureWrongThread:
    case hipErrorCapturedEvent:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kInternal;
  }
}

absl::Status Refusal(hipError_t error) {
  switch (error) {
    case kNoHipAnyMore.error:
      return NoHipAnyMore();
    case kNoSuchStream.error:
      return absl::FailedPreconditionError(
          "the stream does not exist any more: its device was reset");
    default:
      return absl::FailedPreconditionError(
          "the stream is in a stream capture, which this would break");
  }
}

absl::string_view InWords(hipError_t error) {
  return error == hipErrorContextIsDestroyed
             ? ": HIP does not know this stream, or it is another device's"
             : "";
}

absl::Status Failure(HipResult result, absl::string_view arguments) {
  if (result.call == nullptr) return Refusal(result.error);
  HipCallGuard guard;
  const char* name =
      guard.may_call() ? hipGetErrorName(result.error) : "an error";
  return absl::Status(
      CodeOf(result.error),
      absl::StrCat(result.call, "(", arguments, "): ", name, " (",
                   static_cast<int>(result.error), ")", InWords(result.error)));
}

}  // namespace

HipResult Note(const char* call, hipError_t error) {
  HipResult result{call, error};
  if (!result.ok()) (void)hipGetLastError();
  return result;
}

absl::Status ToStatus(HipResult result) {
  return result.ok() ? absl::OkStatus() : Failure(result, "");
}

absl::Status ToStatus(HipResult result, int device_ordinal) {
  return result.ok() ? absl::OkStatus()
                     : Failure(result, absl::StrCat("device ", device_ordinal));
}

absl::Status ToStatus(HipResult result, const StreamKey& key) {
  return result.ok() ? absl::OkStatus() : Failure(result, ToString(key));
}

absl::Status NoHipAnyMore() {
  return absl::FailedPreconditionError(
      IsForkedChild()
          ? "HIP does not work in a child that was forked after it had started"
          : "the process exits; HIP may be gone already");
}

absl::Status OwnsNothing() {
  return absl::FailedPreconditionError(
      "the RocmStream owns no stream: it was moved from, or released");
}

}  // namespace hip_stream_pool
