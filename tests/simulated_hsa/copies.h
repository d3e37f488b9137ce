// SPDX-License-Identifier: Apache-2.0
//
// A copy engine: moves bytes in the background, one copy at a time, in the
// order in which the copies' dependencies were met.

#ifndef HIP_STREAM_POOL_TESTS_SIMULATED_HSA_COPIES_H_
#define HIP_STREAM_POOL_TESTS_SIMULATED_HSA_COPIES_H_

#include <hsa/hsa.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "event_loop.h"

namespace simulated_hsa {

class CopyEngine : private Task {
 public:
  explicit CopyEngine(const std::string& name);
  ~CopyEngine() override;

  // Calls `move_bytes`, which returns their number, after every signal of
  // `dependencies` has been zero; then takes one off `completion`.
  void Submit(std::function<size_t()> move_bytes,
              const std::vector<hsa_signal_t>& dependencies,
              hsa_signal_t completion);

  EventLoop& loop() { return loop_; }

 private:
  class Copy;

  void Run() override;

  EventLoop& loop_;
  // Touched on the loop's thread only.
  std::deque<std::unique_ptr<Copy>> ready_;
  bool started_ = false;  // the first of them
  Clock::time_point start_;
  Clock::time_point due_;
};

}  // namespace simulated_hsa

#endif  // HIP_STREAM_POOL_TESTS_SIMULATED_HSA_COPIES_H_
