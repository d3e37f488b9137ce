// SPDX-License-Identifier: Apache-2.0
//
// The absl::Status of what went wrong. Every sentence that a user reads in an
// error is in status.cc.
#ifndef HIP_STREAM_POOL_SRC_STATUS_H_
#define HIP_STREAM_POOL_SRC_STATUS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "hip/result.h"
#include "hip_stream_pool/stream_key.h"

namespace hip_stream_pool {

// What the program called: the name, and what for.
struct Called {
  const char* function;
  StreamKey key;
  bool has_key = false;

  Called(const char* function, int device_ordinal) : function(function) {
    key.device_ordinal = device_ordinal;
  }
  Called(const char* function, const StreamKey& key)
      : function(function), key(key), has_key(true) {}
};

// OK, or "FUNCTION(ARGUMENTS): hipX failed: hipErrorY = number: in words".
absl::Status Failure(const Result& result, const Called& called);
inline absl::Status ToStatus(const Result& result, const Called& called) {
  return result.ok() ? absl::OkStatus() : Failure(result, called);
}

// What is wrong with a call before HIP comes into it.
enum class Mistake {
  kNoHip,           // the process exits, or is a forked child
  kOwnsNothing,     // a RocmStream that was moved from, or released
  kNoCallback,      // an empty one
  kNoSetStream,     // a library without a function to set its stream
  kNoEvent,         // nullptr
  kNotAnError,      // SetError with an OK status
  kEventIsDecided,  // recorded or failed before
  kBufferHasEvent,  // it stands
  kNullCopy,        // to or from nullptr
  kCopyWithin,      // from and to the same buffer
  kPromiseDropped,  // an event that nobody can record any more
  kDeviceWasReset,  // after the event was recorded
};
absl::Status ToStatus(Mistake mistake, const char* function);

// A copy, or a slice, of more bytes than there are.
absl::Status TooManyBytes(const char* function, size_t bytes, size_t from,
                          size_t size);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_STATUS_H_
