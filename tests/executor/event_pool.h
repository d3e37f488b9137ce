// SPDX-License-Identifier: Apache-2.0
//
// EventPool has the events of one device: one is created when none is free, and
// all are destroyed together.
#ifndef HIP_STREAM_POOL_TESTS_EXECUTOR_EVENT_POOL_H_
#define HIP_STREAM_POOL_TESTS_EXECUTOR_EVENT_POOL_H_

#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/hip_runtime_api.h"

namespace hip_stream_pool {

// Thread-safe.
class EventPool {
 public:
  EventPool() = default;
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;
  ~EventPool() { Clear().IgnoreError(); }

  // An event for the caller alone, without timing. The pool's device must be
  // current.
  absl::StatusOr<hipEvent_t> Take();
  void GiveBack(hipEvent_t event);

  // How many are taken.
  int in_flight() const;

  // Destroys those that are not taken. Returns the first error.
  absl::Status Clear();

 private:
  mutable std::mutex mutex_;
  std::vector<hipEvent_t> free_;  // guarded by mutex_
  int in_flight_ = 0;             // guarded by mutex_
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_TESTS_EXECUTOR_EVENT_POOL_H_
