// SPDX-License-Identifier: Apache-2.0
//
// HipScope is how the pool calls HIP: never while the process exits or in a
// forked child, and with nothing left behind for the caller to find.
#ifndef HIP_STREAM_POOL_SRC_HIP_HIP_SCOPE_H_
#define HIP_STREAM_POOL_SRC_HIP_HIP_SCOPE_H_

#include "hip/call_guard.h"
#include "hip/hip.h"
#include "hip/hip_runtime_api.h"
#include "hip/result.h"

namespace hip_stream_pool {

// HIP must be known. A scope changes the thread's device and capture mode only
// where a call needs it. Close(), or the destructor, gives back what was
// changed, and clears what a failed call left in hipGetLastError.
class HipScope {
 public:
  HipScope() : hip_(*KnownHip()) {}
  // With the device current and a relaxed mode, if entered() is OK.
  explicit HipScope(int device_ordinal) : HipScope() {
    entered_ = Enter(device_ordinal);
    if (entered_.ok()) entered_ = Relax();
  }
  ~HipScope() { Close(); }
  HipScope(const HipScope&) = delete;
  HipScope& operator=(const HipScope&) = delete;

  // If this is false, call nothing.
  bool may_call() const { return guard_.may_call(); }
  const Result& entered() const { return entered_; }

  const HipFunctions& functions() const { return hip_.functions; }
  const Behaviors& behaviors() const { return hip_.behaviors; }

  // Makes the device current. Needed to create, to record and to enqueue. A
  // stream can be asked about, waited for and destroyed whatever device is
  // current (HipFactsTest).
  Result Enter(int device_ordinal);

  // Makes the thread's capture mode relaxed, so that calls neither fail because
  // of a stream capture elsewhere in the process nor invalidate it.
  Result Relax();

  // For a query: relaxes where this version needs it.
  Result RelaxForQuery() {
    return behaviors().query_breaks_captures ? Relax() : Result();
  }

  // hipErrorNotReady is an answer, no failure.
  template <typename Signature, typename... Arguments>
  Result Call(const HipFunction<Signature>& function, Arguments... arguments) {
    Result result = CallHip(function, arguments...);
    if (!result.ok() && result.error != hipErrorNotReady) failed_ = true;
    return result;
  }

  // Returns `result` if that is a failure, else what went wrong here.
  Result Close(Result result = {});

 private:
  const HipCallGuard guard_;
  const Hip& hip_;
  Result entered_;
  int callers_device_ = 0;
  hipStreamCaptureMode callers_mode_ = hipStreamCaptureModeRelaxed;
  bool device_changed_ = false;
  bool mode_changed_ = false;
  bool failed_ = false;
};

// Inline: that saves 4 ns a cycle (bench/README.md).
inline Result HipScope::Enter(int device_ordinal) {
  if (!may_call()) return Refused(Refusal::kNoHip);
  int current = 0;
  Result result = Call(functions().hipGetDevice, &current);
  if (!result.ok() || current == device_ordinal) return result;
  result = Call(functions().hipSetDevice, device_ordinal);
  if (result.ok() && !device_changed_) {
    device_changed_ = true;
    callers_device_ = current;
  }
  return result;
}

inline Result HipScope::Relax() {
  if (!may_call()) return Refused(Refusal::kNoHip);
  if (mode_changed_) return {};
  Result result =
      Call(functions().hipThreadExchangeStreamCaptureMode, &callers_mode_);
  mode_changed_ = result.ok();
  return result;
}

inline Result HipScope::Close(Result result) {
  if (mode_changed_) {
    mode_changed_ = false;
    result = First(result, Call(functions().hipThreadExchangeStreamCaptureMode,
                                &callers_mode_));
  }
  if (device_changed_) {
    device_changed_ = false;
    result = First(result, Call(functions().hipSetDevice, callers_device_));
  }
  if (failed_) {
    failed_ = false;
    (void)functions().hipGetLastError.call();
  }
  return result;
}

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_HIP_HIP_SCOPE_H_
