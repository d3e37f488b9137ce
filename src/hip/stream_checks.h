// SPDX-License-Identifier: Apache-2.0
//
// What can be asked of HIP about a stream, and what the answers mean. No check
// needs the stream's device to be current.
#ifndef HIP_STREAM_POOL_SRC_HIP_STREAM_CHECKS_H_
#define HIP_STREAM_POOL_SRC_HIP_STREAM_CHECKS_H_

#include <cstdint>

#include "hip/hip_runtime_api.h"
#include "hip/hip_scope.h"
#include "hip/result.h"

namespace hip_stream_pool {

enum class StreamState {
  kFine,
  kBusy,       // it has work that is not done
  kCapturing,  // it is in a stream capture, or was when that failed
  kUnclear,    // HIP does not say while there is a capture elsewhere
  kGone,       // it does not exist, or another stream has its handle now
  kFailed,     // HIP answered with another error
};

// What the result of a check says of the stream.
StreamState StateOf(const Result& result);

// The values that stand for a stream that nobody created: null, legacy (1) and
// per-thread (2). Some HIP versions dereference them.
inline bool IsSpecialStream(hipStream_t stream) {
  return reinterpret_cast<uintptr_t>(stream) <= 2;
}

// What tells the stream from every other that the process has or will have;
// 0 where HIP has no such thing (before 7.1).
Result ReadIdentity(HipScope& hip, hipStream_t stream, uint64_t* identity);

// Whether `stream` is still the stream of that identity. From HIP 7.1 that is
// certain: identities are never used again. From 5.6 it shows that the stream
// exists and is the device's. Before that nothing is asked; HIP itself then
// answers every other question about a stream that does not exist with an
// error, but can't tell a new stream that was given an old one's handle.
Result CheckIdentity(HipScope& hip, hipStream_t stream, int device_ordinal,
                     uint64_t identity);

// Whether the other questions may be asked of a stream that should have that
// identity: CheckIdentity, where HIP does not check by itself (from 7.0).
Result CheckMayBeAsked(HipScope& hip, hipStream_t stream, int device_ordinal,
                       uint64_t identity);

// Whether the stream exists and, from HIP 5.6 on, whether it is the device's;
// of whatever identity. One HIP call that every version answers for a stream
// that does not exist; none for a special stream. Must come before any call for
// a stream that may have been destroyed: HIP 5.2's hipEventRecord crashes for
// one, HIP 5.7's hipMemcpyAsync, most of 7.0's calls.
Result CheckExists(HipScope& hip, hipStream_t stream, int device_ordinal);

// CheckExists, for a stream that was the device's: if it is another device's
// now, it does not exist any more.
Result CheckStillExists(HipScope& hip, hipStream_t stream, int device_ordinal);

// CheckExists, for a stream that a caller keeps. The legacy stream's handle (1)
// is refused: nullptr means the same, and no version of HIP dereferences that.
Result CheckExternal(HipScope& hip, hipStream_t stream, int device_ordinal);

// Whether the stream takes no part in a capture.
Result CheckNotCapturing(HipScope& hip, hipStream_t stream);

// Whether the stream's work is done. Never waits. A stream that takes part in
// a capture must not be asked: that would invalidate the capture.
Result CheckIdle(HipScope& hip, hipStream_t stream);

// Waits for the work of a stream that CheckIdle found busy.
Result WaitUntilIdle(HipScope& hip, hipStream_t stream);

// Reads the flags and the priority that the stream has.
Result ReadFlagsAndPriority(HipScope& hip, hipStream_t stream,
                            unsigned int* flags, int* priority);

// Gives the stream the attributes of a new one, where HIP has any (from 7.1):
// the synchronization policy.
Result ResetAttributes(HipScope& hip, hipStream_t stream);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_HIP_STREAM_CHECKS_H_
