// SPDX-License-Identifier: Apache-2.0
//
// StreamKey says which streams are interchangeable: the device, the flags and
// the priority that a stream is created with. Two streams of one key can stand
// in for each other; streams of different keys never do.
#ifndef HIP_STREAM_POOL_STREAM_KEY_H_
#define HIP_STREAM_POOL_STREAM_KEY_H_

#include <string>
#include <utility>

#include "hip/hip_runtime_api.h"

namespace hip_stream_pool {

struct StreamKey {
  // Index of the device, as for hipSetDevice.
  int device_ordinal = 0;
  // hipStreamDefault or hipStreamNonBlocking.
  unsigned int flags = hipStreamDefault;
  // A lower number is more urgent. AMD devices have -1 to 1; a number outside
  // the device's range means the nearest end of it.
  int priority = 0;

  friend bool operator==(const StreamKey& a, const StreamKey& b) {
    return a.device_ordinal == b.device_ordinal && a.flags == b.flags &&
           a.priority == b.priority;
  }
  friend bool operator!=(const StreamKey& a, const StreamKey& b) {
    return !(a == b);
  }
  template <typename H>
  friend H AbslHashValue(H h, const StreamKey& key) {
    return H::combine(std::move(h), key.device_ordinal, key.flags,
                      key.priority);
  }
};

// For messages: "device 0, flags 1, priority -1".
std::string ToString(const StreamKey& key);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_STREAM_KEY_H_
