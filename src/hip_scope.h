// SPDX-License-Identifier: Apache-2.0
//
// How the library calls HIP: with the right device current, in a mode in which
// the calls neither fail because of a stream capture elsewhere in the process
// nor invalidate it, and with nothing left behind for the caller to find.
#ifndef HIP_STREAM_POOL_SRC_HIP_SCOPE_H_
#define HIP_STREAM_POOL_SRC_HIP_SCOPE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hip/hip_runtime_api.h"

namespace hip_stream_pool {

// What a HIP call answered, and which call it was.
struct HipResult {
  const char* call = "";
  hipError_t error = hipSuccess;

  bool ok() const { return error == hipSuccess; }
};

// Whether the error says that the stream named in the call does not exist.
inline bool SaysNoSuchStream(hipError_t error) {
  return error == hipErrorContextIsDestroyed || error == hipErrorInvalidHandle;
}

// OK, or "CALL(ARGUMENTS): hipErrorX (what HIP says of it)".
absl::Status ToStatus(HipResult result, absl::string_view arguments);

// From its construction to Close() or its destruction, the device is current
// on this thread and the thread's stream capture mode is relaxed. HIP calls in
// between go through Call, so that Close knows what there is to clear.
class HipScope {
 public:
  explicit HipScope(int device_ordinal);
  ~HipScope() { Close(); }
  HipScope(const HipScope&) = delete;
  HipScope& operator=(const HipScope&) = delete;

  // Whether the device and the mode could be set. If not, call nothing.
  HipResult entered() const { return entered_; }

  // Notes whether the call failed. hipErrorNotReady is an answer, no failure.
  HipResult Call(const char* call, hipError_t error) {
    if (error != hipSuccess && error != hipErrorNotReady) failed_ = true;
    return {call, error};
  }

  // Gives the caller's device and mode back, and clears what a failed call of
  // ours left in hipGetLastError. Returns `result` if that is a failure, else
  // what went wrong here.
  HipResult Close(HipResult result = {});

 private:
  HipResult entered_;
  int callers_device_ = 0;
  hipStreamCaptureMode callers_mode_ = hipStreamCaptureModeRelaxed;
  bool device_changed_ = false;
  bool mode_changed_ = false;
  bool failed_ = false;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_HIP_SCOPE_H_
