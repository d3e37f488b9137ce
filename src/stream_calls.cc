// SPDX-License-Identifier: Apache-2.0
#include "stream_calls.h"

#include <thread>

#include "absl/strings/str_cat.h"
#include "hip_version.h"
#include "process_lifetime.h"

namespace hip_stream_pool {
namespace {

// How often a stream that is busy is asked again.
constexpr int kTries = 10;

StreamFinding Judge(HipResult result) {
  switch (result.error) {
    case hipSuccess:
      return {StreamFinding::kFine, result};
    case hipErrorNotReady:
      return {StreamFinding::kBusy, result};
    case hipErrorStreamCaptureUnsupported:
      return {StreamFinding::kUnclear, result};
    default:
      return {SaysNoSuchStream(result.error) ? StreamFinding::kGone
                                             : StreamFinding::kFailed,
              result};
  }
}

}  // namespace

HipResult ReadIdentity(HipScope& hip, hipStream_t stream, uint64_t* identity) {
#if HIP_STREAM_POOL_HAS_STREAM_GET_ID
  unsigned long long id = 0;  // NOLINT(google-runtime-int)
  HipResult result = hip.Call("hipStreamGetId", hipStreamGetId(stream, &id));
  *identity = id;
  return result;
#else
  (void)hip, (void)stream;
  *identity = 0;
  return {};
#endif
}

StreamFinding CheckDevice(HipScope& hip, hipStream_t stream,
                          int device_ordinal) {
  if (IsSpecialStream(stream)) return {};
#if HIP_STREAM_POOL_HAS_STREAM_GET_DEVICE
  hipDevice_t device = -1;
  StreamFinding finding = Judge(
      hip.Call("hipStreamGetDevice", hipStreamGetDevice(stream, &device)));
  if (finding.verdict == StreamFinding::kFine && device != device_ordinal) {
    finding.verdict = StreamFinding::kGone;
  }
  return finding;
#else
  (void)device_ordinal;
  // Of what tells, the one call that CUDA too allows in a capture.
  int priority = 0;
  return Judge(hip.Call("hipStreamGetPriority",
                        hipStreamGetPriority(stream, &priority)));
#endif
}

absl::Status CheckCallersStream(int device_ordinal, hipStream_t stream) {
  if (stream == reinterpret_cast<hipStream_t>(1)) {
    return absl::InvalidArgumentError(
        "the legacy stream's handle; nullptr names the default stream");
  }
  if (IsSpecialStream(stream)) return absl::OkStatus();
  HipCallGuard guard;
  if (!guard.may_call()) return NoHipAnyMore();
#if HIP_STREAM_POOL_HAS_STREAM_GET_DEVICE
  hipDevice_t device = device_ordinal;
  HipResult result =
      Note("hipStreamGetDevice", hipStreamGetDevice(stream, &device));
  if (result.ok() && device != device_ordinal) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the stream is of device ", device, ", not of ", device_ordinal));
  }
#else
  int priority = 0;
  HipResult result =
      Note("hipStreamGetPriority", hipStreamGetPriority(stream, &priority));
#endif
  return ToStatus(result, device_ordinal);
}

StreamFinding CheckIdentity(HipScope& hip, hipStream_t stream,
                            int device_ordinal, uint64_t identity) {
#if HIP_STREAM_POOL_HAS_STREAM_GET_ID
  (void)device_ordinal;
  uint64_t read = 0;
  StreamFinding finding = Judge(ReadIdentity(hip, stream, &read));
  if (finding.verdict == StreamFinding::kFine && read != identity) {
    finding.verdict = StreamFinding::kGone;
  }
  return finding;
#elif HIP_STREAM_POOL_HAS_STREAM_GET_DEVICE
  (void)identity;
  return CheckDevice(hip, stream, device_ordinal);
#else
  (void)hip, (void)stream, (void)device_ordinal, (void)identity;
  return {};
#endif
}

StreamFinding CheckMayBeAsked(HipScope& hip, hipStream_t stream,
                              int device_ordinal, uint64_t identity) {
#if HIP_STREAM_POOL_CALLS_CHECK_STREAMS
  (void)hip, (void)stream, (void)device_ordinal, (void)identity;
  return {};
#else
  return CheckIdentity(hip, stream, device_ordinal, identity);
#endif
}

StreamFinding CheckNotCapturing(HipScope& hip, hipStream_t stream) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  HipResult result =
      hip.Call("hipStreamIsCapturing", hipStreamIsCapturing(stream, &status));
  if (result.ok() && status != hipStreamCaptureStatusNone) {
    return {StreamFinding::kCapturing, kInACapture};
  }
  // What HIP 5.2 says here of a stream that does not exist.
  if (result.error == hipErrorInvalidValue) {
    return {StreamFinding::kGone, result};
  }
  return Judge(result);
}

StreamFinding CheckIdle(HipScope& hip, hipStream_t stream) {
  return Judge(hip.Call("hipStreamQuery", hipStreamQuery(stream)));
}

StreamFinding CheckIdleSoon(HipScope& hip, hipStream_t stream) {
  StreamFinding finding = CheckIdle(hip, stream);
  for (int i = 0; i < kTries && finding.verdict == StreamFinding::kBusy; ++i) {
    std::this_thread::yield();
    finding = CheckIdle(hip, stream);
  }
  return finding;
}

StreamFinding WaitUntilIdle(HipScope& hip, hipStream_t stream) {
  StreamFinding finding(StreamFinding::kBusy, {});
  for (int i = 0; i < kTries && finding.verdict == StreamFinding::kBusy; ++i) {
    finding =
        Judge(hip.Call("hipStreamSynchronize", hipStreamSynchronize(stream)));
    // From HIP 6.2, the first query after a synchronize can still say busy.
    if (finding.verdict == StreamFinding::kFine) {
      finding = CheckIdleSoon(hip, stream);
    }
  }
  return finding;
}

StreamFinding ReadFlagsAndPriority(HipScope& hip, hipStream_t stream,
                                   unsigned int* flags, int* priority) {
  StreamFinding finding =
      Judge(hip.Call("hipStreamGetFlags", hipStreamGetFlags(stream, flags)));
  if (finding.verdict == StreamFinding::kFine) {
    finding = Judge(hip.Call("hipStreamGetPriority",
                             hipStreamGetPriority(stream, priority)));
  }
  return finding;
}

StreamFinding ResetAttributes(HipScope& hip, hipStream_t stream) {
#if HIP_STREAM_POOL_HAS_STREAM_ATTRIBUTES
  hipStreamAttrValue value = {};
  StreamFinding finding = Judge(
      hip.Call("hipStreamGetAttribute",
               hipStreamGetAttribute(
                   stream, hipStreamAttributeSynchronizationPolicy, &value)));
  if (finding.verdict == StreamFinding::kFine &&
      value.syncPolicy != hipSyncPolicyAuto) {
    value.syncPolicy = hipSyncPolicyAuto;
    finding = Judge(
        hip.Call("hipStreamSetAttribute",
                 hipStreamSetAttribute(
                     stream, hipStreamAttributeSynchronizationPolicy, &value)));
  }
  return finding;
#else
  (void)hip, (void)stream;
  return {};
#endif
}

}  // namespace hip_stream_pool
