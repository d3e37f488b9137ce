// SPDX-License-Identifier: Apache-2.0
#include "hip/stream_checks.h"

#include <thread>

namespace hip_stream_pool {
namespace {

// How often a stream that was synchronized is asked whether it is idle.
constexpr int kQueriesBehindSynchronize = 10;
constexpr int kSynchronizes = 10;

// What headers before 7.1 lack: hipStreamAttributeSynchronizationPolicy, the
// type of its value, and hipSyncPolicyAuto.
constexpr int kSynchronizationPolicy = 3;
union AttributeValue {
  int policy;
  char size[64];  // HIP may write as much
};
constexpr int kPolicyAuto = 1;

}  // namespace

StreamState StateOf(const Result& result) {
  switch (result.refusal) {
    case Refusal::kNone:
      break;
    case Refusal::kCapturing:
      return StreamState::kCapturing;
    case Refusal::kNoSuchStream:
    case Refusal::kAnotherDevices:
      return StreamState::kGone;
    default:
      return StreamState::kFailed;
  }
  switch (result.error) {
    case hipSuccess:
      return StreamState::kFine;
    case hipErrorNotReady:
      return StreamState::kBusy;
    case hipErrorStreamCaptureUnsupported:
      return StreamState::kUnclear;
    default:
      return SaysNoSuchStream(result.error) ? StreamState::kGone
                                            : StreamState::kFailed;
  }
}

Result ReadIdentity(HipScope& hip, hipStream_t stream, uint64_t* identity) {
  const auto& get_id = hip.functions().hipStreamGetId;
  unsigned long long id = 0;  // NOLINT(google-runtime-int): HIP's type
  const Result result = get_id ? hip.Call(get_id, stream, &id) : Result();
  *identity = id;
  return result;
}

Result CheckExists(HipScope& hip, hipStream_t stream, int device_ordinal) {
  if (IsSpecialStream(stream)) return {};
  if (const auto& get_device = hip.functions().hipStreamGetDevice) {
    int device = -1;
    const Result result = hip.Call(get_device, stream, &device);
    return result.ok() && device != device_ordinal
               ? Refused(Refusal::kAnotherDevices)
               : result;
  }
  // Of what tells, the one call that CUDA too allows in a capture.
  int priority = 0;
  return hip.Call(hip.functions().hipStreamGetPriority, stream, &priority);
}

Result CheckStillExists(HipScope& hip, hipStream_t stream, int device_ordinal) {
  const Result result = CheckExists(hip, stream, device_ordinal);
  return result.refusal == Refusal::kAnotherDevices
             ? Refused(Refusal::kNoSuchStream)
             : result;
}

Result CheckExternal(HipScope& hip, hipStream_t stream, int device_ordinal) {
  return stream == reinterpret_cast<hipStream_t>(1)
             ? Refused(Refusal::kLegacyStream)
             : CheckExists(hip, stream, device_ordinal);
}

Result CheckIdentity(HipScope& hip, hipStream_t stream, int device_ordinal,
                     uint64_t identity) {
  if (hip.functions().hipStreamGetId) {
    uint64_t read = 0;
    const Result result = ReadIdentity(hip, stream, &read);
    return result.ok() && read != identity ? Refused(Refusal::kNoSuchStream)
                                           : result;
  }
  return hip.functions().hipStreamGetDevice
             ? CheckExists(hip, stream, device_ordinal)
             : Result();
}

Result CheckMayBeAsked(HipScope& hip, hipStream_t stream, int device_ordinal,
                       uint64_t identity) {
  return hip.behaviors().calls_check_streams
             ? Result()
             : CheckIdentity(hip, stream, device_ordinal, identity);
}

Result CheckNotCapturing(HipScope& hip, hipStream_t stream) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  Result result =
      hip.Call(hip.functions().hipStreamIsCapturing, stream, &status);
  if (result.ok() && status != hipStreamCaptureStatusNone) {
    return Refused(Refusal::kCapturing);
  }
  // What HIP 5.2 says here of a stream that does not exist.
  if (result.error == hipErrorInvalidValue) {
    result.error = hipErrorContextIsDestroyed;
  }
  return result;
}

Result CheckIdle(HipScope& hip, hipStream_t stream) {
  const Result relaxed = hip.RelaxForQuery();
  return relaxed.ok() ? hip.Call(hip.functions().hipStreamQuery, stream)
                      : relaxed;
}

Result WaitUntilIdle(HipScope& hip, hipStream_t stream) {
  Result result = hip.Relax();
  if (!result.ok()) return result;
  for (int i = 0; i < kSynchronizes; ++i) {
    result = hip.Call(hip.functions().hipStreamSynchronize, stream);
    // From HIP 6.2, the first query after a synchronize can still say busy.
    for (int q = 0; q < kQueriesBehindSynchronize && result.ok(); ++q) {
      result = CheckIdle(hip, stream);
      if (StateOf(result) != StreamState::kBusy) return result;
      std::this_thread::yield();
      result = {};
    }
    if (!result.ok()) return result;
  }
  return {hip.functions().hipStreamQuery.name, hipErrorNotReady};
}

Result ReadFlagsAndPriority(HipScope& hip, hipStream_t stream,
                            unsigned int* flags, int* priority) {
  const Result result =
      hip.Call(hip.functions().hipStreamGetFlags, stream, flags);
  if (!result.ok()) return result;
  return hip.Call(hip.functions().hipStreamGetPriority, stream, priority);
}

Result ResetAttributes(HipScope& hip, hipStream_t stream) {
  const auto& get = hip.functions().hipStreamGetAttribute;
  const auto& set = hip.functions().hipStreamSetAttribute;
  if (!get || !set) return {};
  AttributeValue value = {};
  const Result result = hip.Call(get, stream, kSynchronizationPolicy, &value);
  if (!result.ok() || value.policy == kPolicyAuto) return result;
  value.policy = kPolicyAuto;
  return hip.Call(set, stream, kSynchronizationPolicy, &value);
}

}  // namespace hip_stream_pool
