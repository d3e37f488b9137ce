// SPDX-License-Identifier: Apache-2.0
//
// The HIP calls that it takes to lend a parked stream and to park it again, by
// themselves: the floor that the pool stands on. In the order in which the pool
// makes them, for a thread whose current device is the stream's.
#ifndef HIP_STREAM_POOL_BENCH_BARE_CALLS_H_
#define HIP_STREAM_POOL_BENCH_BARE_CALLS_H_

#include "absl/status/status.h"
#include "hip/hip_runtime_api.h"
#include "hip_version.h"

namespace hip_stream_pool {

enum class BareCalls {
  kOfEveryVersion,  // what HIP 5.2 has
  kOfThisVersion,   // and what later versions have to tell streams apart
};

// Whether the two differ.
inline constexpr bool kThisVersionHasMore =
    HIP_STREAM_POOL_HAS_STREAM_GET_DEVICE || HIP_STREAM_POOL_HAS_STREAM_GET_ID;

// In a cycle of this version, on the device that is current: the two below.
inline constexpr int kCallsOfThisVersion =
    11 + int{kThisVersionHasMore} +
    int{kThisVersionHasMore && !HIP_STREAM_POOL_CALLS_CHECK_STREAMS} +
    int{HIP_STREAM_POOL_HAS_STREAM_ATTRIBUTES != 0};

// Whether the handle is still that stream's. Adds up the errors, as the others.
template <BareCalls kCalls>
int BareIdentity(hipStream_t stream) {
  if constexpr (kCalls == BareCalls::kOfThisVersion) {
#if HIP_STREAM_POOL_HAS_STREAM_GET_ID
    unsigned long long id = 0;  // NOLINT(google-runtime-int)
    return hipStreamGetId(stream, &id);
#elif HIP_STREAM_POOL_HAS_STREAM_GET_DEVICE
    hipDevice_t device = 0;
    return hipStreamGetDevice(stream, &device);
#endif
  }
  (void)stream;
  return hipSuccess;
}

// A parked stream is lent: 4 calls of every version. True if all went well.
template <BareCalls kCalls>
bool BareHit(hipStream_t stream) {
  int device = 0;
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
  int errors = hipGetDevice(&device);
  errors |= hipThreadExchangeStreamCaptureMode(&mode);
  errors |= BareIdentity<kCalls>(stream);
  errors |= hipStreamQuery(stream);
  errors |= hipThreadExchangeStreamCaptureMode(&mode);
  return errors == hipSuccess;
}

// A lent stream is parked: 7 calls of every version.
template <BareCalls kCalls>
bool BarePark(hipStream_t stream) {
  int device = 0;
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  unsigned int flags = 0;
  int priority = 0;
  int errors = hipGetDevice(&device);
  errors |= hipThreadExchangeStreamCaptureMode(&mode);
#if !HIP_STREAM_POOL_CALLS_CHECK_STREAMS
  errors |= BareIdentity<kCalls>(stream);
#endif
  errors |= hipStreamIsCapturing(stream, &status);
  errors |= hipStreamQuery(stream);
  errors |= hipStreamGetFlags(stream, &flags);
  errors |= hipStreamGetPriority(stream, &priority);
#if HIP_STREAM_POOL_HAS_STREAM_ATTRIBUTES
  if constexpr (kCalls == BareCalls::kOfThisVersion) {
    hipStreamAttrValue value = {};
    errors |= hipStreamGetAttribute(
        stream, hipStreamAttributeSynchronizationPolicy, &value);
  }
#endif
  errors |= hipThreadExchangeStreamCaptureMode(&mode);
  return errors == hipSuccess;
}

inline absl::Status BareCallFailed() {
  return absl::InternalError("one of the bare HIP calls failed");
}

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_BARE_CALLS_H_
