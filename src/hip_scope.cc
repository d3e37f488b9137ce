// SPDX-License-Identifier: Apache-2.0
#include "hip_scope.h"

#include "absl/strings/str_cat.h"

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

}  // namespace

HipResult Note(const char* call, hipError_t error) {
  HipResult result{call, error};
  if (!result.ok()) {
    (void)hipGetLastError();
    result.error_name = hipGetErrorName(error);
  }
  return result;
}

absl::Status ToStatus(const HipResult& result, absl::string_view arguments) {
  if (result.ok()) return absl::OkStatus();
  if (result.call == nullptr) return NoHipAnyMore();
  return absl::Status(
      CodeOf(result.error),
      absl::StrCat(result.call, "(", arguments, "): ", result.error_name, " (",
                   static_cast<int>(result.error), ")"));
}

absl::Status NoHipAnyMore() {
  return absl::FailedPreconditionError(
      IsForkedChild()
          ? "HIP does not work in a child that was forked after it had started"
          : "the process exits; HIP may be gone already");
}

HipScope::HipScope(int device_ordinal)
    : device_ordinal_(device_ordinal), guard_(device_ordinal) {
  if (!guard_.may_call()) {
    entered_ = kNoHipAnyMore;
    return;
  }
  entered_ = Call("hipGetDevice", hipGetDevice(&callers_device_));
  if (entered_.ok() && callers_device_ != device_ordinal) {
    entered_ = Call("hipSetDevice", hipSetDevice(device_ordinal));
    device_changed_ = entered_.ok();
  }
  if (entered_.ok()) {
    entered_ = Call("hipThreadExchangeStreamCaptureMode",
                    hipThreadExchangeStreamCaptureMode(&callers_mode_));
    mode_changed_ = entered_.ok();
  }
}

void HipScope::NoteFailure(HipResult& result) {
  failed_ = true;
  result.error_name = hipGetErrorName(result.error);
}

HipResult HipScope::Close(HipResult result) {
  const auto note = [&](HipResult given_back) {
    if (result.ok()) result = given_back;
  };
  if (mode_changed_) {
    mode_changed_ = false;
    note(Call("hipThreadExchangeStreamCaptureMode",
              hipThreadExchangeStreamCaptureMode(&callers_mode_)));
  }
  if (device_changed_) {
    device_changed_ = false;
    note(Call("hipSetDevice", hipSetDevice(callers_device_)));
  }
  if (failed_) {
    failed_ = false;
    (void)hipGetLastError();
  }
  if (entered_.call != nullptr) WatchThisThread();
  return result;
}

}  // namespace hip_stream_pool
