// SPDX-License-Identifier: Apache-2.0
//
// What the library asks HIP about a stream, and what the answers mean. Each but
// CheckCallersStream is asked within a HipScope of the stream's device. What to
// do with a stream is not decided here.
#ifndef HIP_STREAM_POOL_SRC_STREAM_CALLS_H_
#define HIP_STREAM_POOL_SRC_STREAM_CALLS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "hip/hip_runtime_api.h"
#include "hip_scope.h"

namespace hip_stream_pool {

struct StreamFinding {
  enum Verdict {
    kFine,       // nothing wrong
    kBusy,       // it has work that is not done
    kCapturing,  // it is in a stream capture, or was when that failed
    kUnclear,    // HIP does not say while there is a capture elsewhere
    kGone,       // the stream does not exist, or another has its handle now
    kFailed,     // HIP answered with another error
  };
  StreamFinding() = default;
  StreamFinding(Verdict verdict, HipResult result)
      : call(result.call), error(result.error), verdict(verdict) {}

  // Of the call that gave the verdict; kInACapture if that is kCapturing. One
  // error for kGone, whichever HIP gave.
  HipResult result() const {
    return {call, verdict == kGone ? hipErrorContextIsDestroyed : error};
  }

  const char* call = "";
  hipError_t error = hipSuccess;
  Verdict verdict = kFine;
};

// The values that stand for a stream that nobody created: null, legacy (1) and
// per-thread (2). Some HIP versions dereference them.
inline bool IsSpecialStream(hipStream_t stream) {
  return reinterpret_cast<uintptr_t>(stream) <= 2;
}

// What tells the stream from every other that the process has or will have;
// 0 where HIP has no such thing (before 7.1).
HipResult ReadIdentity(HipScope& hip, hipStream_t stream, uint64_t* identity);

// Whether `stream` is still the stream of that identity. From HIP 7.1 that is
// certain: identities are never used again. From 5.6 it shows that the stream
// exists and is the device's. Before that nothing is asked; the runtime itself
// then answers kGone to every other question about a stream that does not
// exist, but can't tell a new stream that was given an old one's handle.
StreamFinding CheckIdentity(HipScope& hip, hipStream_t stream,
                            int device_ordinal, uint64_t identity);

// Whether the other questions may be asked of a stream that should have that
// identity: CheckIdentity, where HIP does not check by itself (from 7.0).
StreamFinding CheckMayBeAsked(HipScope& hip, hipStream_t stream,
                              int device_ordinal, uint64_t identity);

// Whether the stream exists and, from HIP 5.6 on, whether it is the device's;
// of whatever identity. One HIP call that every version answers for a stream
// that does not exist; none for a special stream. Must come before any call for
// a stream that may have been destroyed: HIP 5.2's hipEventRecord crashes for
// one, HIP 5.7's hipMemcpyAsync, most of 7.0's calls.
StreamFinding CheckDevice(HipScope& hip, hipStream_t stream,
                          int device_ordinal);

// OK if a caller's stream exists and is the device's; before 5.6, HIP can't
// tell the device. The legacy stream's value (1) is refused: nullptr means the
// same, and no version of HIP dereferences that. One HIP call, none for a
// special stream.
absl::Status CheckCallersStream(int device_ordinal, hipStream_t stream);

// Whether the stream takes no part in a capture. Its result says so too.
StreamFinding CheckNotCapturing(HipScope& hip, hipStream_t stream);

// Whether the stream's work is done. Never waits. A stream that takes part in
// a capture must not be asked: that would invalidate the capture.
StreamFinding CheckIdle(HipScope& hip, hipStream_t stream);

// Like CheckIdle, but retries a few times: HIP puts a marker on each stream,
// used or not, when a thread synchronizes the device.
StreamFinding CheckIdleSoon(HipScope& hip, hipStream_t stream);

// Waits for the work of a stream that CheckIdle found busy.
StreamFinding WaitUntilIdle(HipScope& hip, hipStream_t stream);

// Reads the flags and the priority that the stream has.
StreamFinding ReadFlagsAndPriority(HipScope& hip, hipStream_t stream,
                                   unsigned int* flags, int* priority);

// Gives the stream the attributes of a new one, where HIP has any (from 7.1):
// the synchronization policy.
StreamFinding ResetAttributes(HipScope& hip, hipStream_t stream);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_STREAM_CALLS_H_
