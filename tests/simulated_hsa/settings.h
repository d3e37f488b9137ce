// SPDX-License-Identifier: Apache-2.0
//
// What a test can steer: how long things take, what fails, what is held.

#ifndef HIP_STREAM_POOL_TESTS_SIMULATED_HSA_SETTINGS_H_
#define HIP_STREAM_POOL_TESTS_SIMULATED_HSA_SETTINGS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "event_loop.h"
#include "simulated_hsa.h"

namespace simulated_hsa {

// Decides which call fails. Thread-safe.
class FailurePoint {
 public:
  // As Control::FailQueueCreate.
  void Set(int64_t nth) { left_ = nth; }

  // To be asked once a call.
  bool ShouldFail();

 private:
  std::atomic<int64_t> left_{Control::kNone};
};

// Keeps tasks from going on until released. Thread-safe.
class Gate {
 public:
  // If closed, returns true and has `task` posted when it opens.
  bool Blocks(EventLoop* loop, Task* task);

  void Close();
  void Open();

  // `task` will not be posted from here any more.
  void Forget(Task* task);

 private:
  std::mutex mutex_;
  bool closed_ = false;
  std::vector<std::pair<EventLoop*, Task*>> blocked_;
};

// Thread-safe.
class Settings {
 public:
  using Cost = std::chrono::nanoseconds Model::*;

  // Reads the environment.
  Settings();

  // False if the environment holds something that cannot be meant. The reason
  // has been written to stderr.
  bool valid() const { return valid_; }

  int device_count() const { return device_count_; }
  bool trace() const { return trace_; }

  Model model() const;
  void set_model(const Model& model);
  std::string Describe() const;

  std::chrono::nanoseconds Get(Cost cost) const { return model().*cost; }

  // Keeps the calling thread for what `cost` is now.
  void Spend(Cost cost) const;

  FailurePoint& queue_create_failure() { return queue_create_failure_; }
  FailurePoint& allocate_failure() { return allocate_failure_; }
  Gate& gate() { return gate_; }

 private:
  double ReadNumber(const char* name, double unset, double least, double most);
  void ReadFailure(const char* name, FailurePoint* point);

  bool valid_ = true;
  int device_count_ = 0;
  bool trace_ = false;
  mutable std::mutex mutex_;
  Model model_;  // guarded by mutex_
  FailurePoint queue_create_failure_;
  FailurePoint allocate_failure_;
  Gate gate_;
};

}  // namespace simulated_hsa

#endif  // HIP_STREAM_POOL_TESTS_SIMULATED_HSA_SETTINGS_H_
