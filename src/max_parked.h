// SPDX-License-Identifier: Apache-2.0
//
// How many streams of one key may be parked, in this process.
#ifndef HIP_STREAM_POOL_SRC_MAX_PARKED_H_
#define HIP_STREAM_POOL_SRC_MAX_PARKED_H_

#include <atomic>

namespace hip_stream_pool {
namespace internal {

inline std::atomic<int> max_parked{-1};  // not known yet

// From the environment, unless it was set meanwhile.
int LearnMaxParked();

}  // namespace internal

// Until the program has set it, what HIP_STREAM_POOL_MAX_PARKED in the
// environment says, which is read once, or 32. What is no number from 0 up is
// reported on stderr.
inline int MaxParked() {
  const int limit = internal::max_parked.load(std::memory_order_relaxed);
  return limit >= 0 ? limit : internal::LearnMaxParked();
}
void SetMaxParked(int limit);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_MAX_PARKED_H_
