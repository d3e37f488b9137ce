// SPDX-License-Identifier: Apache-2.0
//
// The HIP calls that it takes to acquire a parked stream and to park it again,
// by themselves: what the pool can't do without, with the HIP that runs. In the
// order in which the pool makes them.
#ifndef HIP_STREAM_POOL_BENCH_BARE_CALLS_H_
#define HIP_STREAM_POOL_BENCH_BARE_CALLS_H_

#include "absl/status/status.h"
#include "hip/hip.h"
#include "hip/hip_runtime_api.h"

namespace hip_stream_pool {

// In a cycle of a stream with hipStreamDefault.
inline int BareCallsOfACycle() {
  const HipFunctions& hip = KnownHip()->functions;
  const Behaviors& behaviors = KnownHip()->behaviors;
  return 5 + int{hip.hipStreamGetId || hip.hipStreamGetDevice} +
         (behaviors.query_breaks_captures ? 4 : 0) +
         int{!behaviors.calls_check_streams} +
         int{static_cast<bool>(hip.hipStreamGetAttribute)};
}

// Each adds up the errors, and returns 0 if all went well.
inline int BareIdentity(const HipFunctions& hip, hipStream_t stream) {
  if (hip.hipStreamGetId) {
    unsigned long long id = 0;  // NOLINT(google-runtime-int)
    return hip.hipStreamGetId.call(stream, &id);
  }
  int device = 0;
  return hip.hipStreamGetDevice ? hip.hipStreamGetDevice.call(stream, &device)
                                : hipSuccess;
}

inline int BareIsCapturing(const HipFunctions& hip, hipStream_t stream) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  return hip.hipStreamIsCapturing.call(stream, &status);
}

// A parked stream is acquired. True if all went well.
inline bool BareHit(hipStream_t stream, unsigned int flags) {
  const HipFunctions& hip = KnownHip()->functions;
  const Behaviors& behaviors = KnownHip()->behaviors;
  int errors = BareIdentity(hip, stream);
  if (behaviors.query_waits_for_null_stream && flags == hipStreamDefault) {
    return (errors | BareIsCapturing(hip, stream)) == hipSuccess;
  }
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
  const bool relax = behaviors.query_breaks_captures;
  if (relax) errors |= hip.hipThreadExchangeStreamCaptureMode.call(&mode);
  errors |= hip.hipStreamQuery.call(stream);
  if (relax) errors |= hip.hipThreadExchangeStreamCaptureMode.call(&mode);
  return errors == hipSuccess;
}

// A leased stream is parked.
inline bool BarePark(hipStream_t stream) {
  const HipFunctions& hip = KnownHip()->functions;
  const Behaviors& behaviors = KnownHip()->behaviors;
  int errors = hipSuccess;
  if (!behaviors.calls_check_streams) errors |= BareIdentity(hip, stream);
  errors |= BareIsCapturing(hip, stream);
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
  const bool relax = behaviors.query_breaks_captures;
  if (relax) errors |= hip.hipThreadExchangeStreamCaptureMode.call(&mode);
  errors |= hip.hipStreamQuery.call(stream);
  unsigned int flags = 0;
  int priority = 0;
  errors |= hip.hipStreamGetFlags.call(stream, &flags);
  errors |= hip.hipStreamGetPriority.call(stream, &priority);
  if (hip.hipStreamGetAttribute) {
    char value[64];
    constexpr int kSynchronizationPolicy = 3;
    errors |=
        hip.hipStreamGetAttribute.call(stream, kSynchronizationPolicy, value);
  }
  if (relax) errors |= hip.hipThreadExchangeStreamCaptureMode.call(&mode);
  return errors == hipSuccess;
}

inline absl::Status BareCallFailed() {
  return absl::InternalError("one of the bare HIP calls failed");
}

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_BARE_CALLS_H_
