// SPDX-License-Identifier: Apache-2.0
//
// Result of a HIP call, or a refusal made before calling HIP; and the
// absl::Status that tells the caller.
#ifndef HIP_STREAM_POOL_SRC_HIP_RESULT_H_
#define HIP_STREAM_POOL_SRC_HIP_RESULT_H_

#include "absl/status/status.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/stream_key.h"

namespace hip_stream_pool {

// What a HIP call answered, and which call it was. Small enough to be returned
// in registers: bench/README.md has what that saves.
struct HipResult {
  const char* call = "";  // nullptr for a refusal: see below
  hipError_t error = hipSuccess;

  bool ok() const { return error == hipSuccess; }
};

// Where HIP must not be called any more.
constexpr HipResult kNoHipAnyMore{nullptr, hipErrorDeinitialized};

// Where the stream takes part in a stream capture that the call would break.
constexpr HipResult kInACapture{nullptr, hipErrorStreamCaptureUnsupported};

// Where Invalidate has ended the stream's lease.
constexpr HipResult kNoSuchStream{nullptr, hipErrorContextIsDestroyed};

// Whether the error says that the stream named in the call does not exist.
inline bool SaysNoSuchStream(hipError_t error) {
  return error == hipErrorContextIsDestroyed || error == hipErrorInvalidHandle;
}

// For a call under a HipCallGuard alone, that needs neither device nor mode:
// its result. Clears what a failure left in hipGetLastError.
HipResult Note(const char* call, hipError_t error);

// OK, or "CALL(ARGUMENTS): hipErrorX (its number)", where the arguments are
// what the call was made for: nothing, a device or a stream of a key.
absl::Status ToStatus(HipResult result);
absl::Status ToStatus(HipResult result, int device_ordinal);
absl::Status ToStatus(HipResult result, const StreamKey& key);

// What ToStatus says where HIP must not be called: the process exits, or is a
// forked child.
absl::Status NoHipAnyMore();

// What a RocmStream answers that was moved from, or released.
absl::Status OwnsNothing();

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_HIP_RESULT_H_
