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

absl::Status ToStatus(HipResult result, absl::string_view arguments) {
  if (result.ok()) return absl::OkStatus();
  return absl::Status(CodeOf(result.error),
                      absl::StrCat(result.call, "(", arguments,
                                   "): ", hipGetErrorName(result.error), " (",
                                   hipGetErrorString(result.error), ")"));
}

HipScope::HipScope(int device_ordinal) {
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
  return result;
}

}  // namespace hip_stream_pool
