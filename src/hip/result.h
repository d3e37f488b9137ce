// SPDX-License-Identifier: Apache-2.0
//
// Result of a HIP call, or a refusal made without one.
#ifndef HIP_STREAM_POOL_SRC_HIP_RESULT_H_
#define HIP_STREAM_POOL_SRC_HIP_RESULT_H_

#include <cstdint>

#include "hip/hip_runtime_api.h"

namespace hip_stream_pool {

// Why nothing was done. status.cc has the words.
enum class Refusal : int32_t {
  kNone,
  kNoHip,             // the process exits, or is a forked child
  kNoSuchDevice,      // the ordinal is none of HIP's
  kBadFlags,          // neither 0 nor 1
  kSpecialStream,     // the null, legacy or per-thread stream: HIP's own
  kLegacyStream,      // its handle, where nullptr has to stand for it
  kPerThreadStream,   // its handle, which is another stream on each thread
  kTooManyToPrewarm,  // of one key: more than the limit
  kNoSuchStream,      // another stream has its handle by now
  kInvalidated,       // Invalidate ended its lease
  kParked,            // it was given back before: the pool has it
  kAnotherDevices,    // it is a stream of another device
  kCapturing,         // the call would break the stream's capture
  kReadsAnotherKey,   // its flags or priority are not those it was made with
};

// Small enough to be returned in registers.
struct Result {
  const char* call = "";  // the HIP function
  hipError_t error = hipSuccess;
  Refusal refusal = Refusal::kNone;

  bool ok() const { return error == hipSuccess && refusal == Refusal::kNone; }
};

inline Result Refused(Refusal why) { return {"", hipSuccess, why}; }

// The first that failed, if any did.
inline Result First(Result first, Result second) {
  return first.ok() ? second : first;
}

// Whether the error says that the stream named in the call does not exist.
inline bool SaysNoSuchStream(hipError_t error) {
  return error == hipErrorContextIsDestroyed || error == hipErrorInvalidHandle;
}

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_HIP_RESULT_H_
