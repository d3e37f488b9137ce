// SPDX-License-Identifier: Apache-2.0
//
// Makes streams busy for as long as a test wants them to be.
#ifndef HIP_STREAM_POOL_TESTS_GPU_HELD_STREAMS_H_
#define HIP_STREAM_POOL_TESTS_GPU_HELD_STREAMS_H_

#include <memory>
#include <vector>

#include "hip/hip_runtime_api.h"

namespace hip_stream_pool {

// What is enqueued on these streams meanwhile does not complete. On the
// simulated GPU nothing does, on any stream, and a stream without work is not
// busy; on a real one, a host callback that has not returned is in front.
class HeldStreams {
 public:
  explicit HeldStreams(const std::vector<hipStream_t>& streams);
  ~HeldStreams() { Release(); }
  HeldStreams(const HeldStreams&) = delete;
  HeldStreams& operator=(const HeldStreams&) = delete;

  void Release();

 private:
  struct Gate;
  const std::shared_ptr<Gate> gate_;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_TESTS_GPU_HELD_STREAMS_H_
