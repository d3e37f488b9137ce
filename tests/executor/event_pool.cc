// SPDX-License-Identifier: Apache-2.0
#include "executor/event_pool.h"

#include "executor/hip_status.h"

namespace hip_stream_pool {

absl::StatusOr<hipEvent_t> EventPool::Take() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      hipEvent_t event = free_.back();
      free_.pop_back();
      ++in_flight_;
      return event;
    }
  }
  hipEvent_t event = nullptr;
  absl::Status created =
      HipStatus("hipEventCreateWithFlags",
                hipEventCreateWithFlags(&event, hipEventDisableTiming));
  if (!created.ok()) return created;
  std::lock_guard<std::mutex> lock(mutex_);
  ++in_flight_;
  return event;
}

void EventPool::GiveBack(hipEvent_t event) {
  std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(event);
  --in_flight_;
}

int EventPool::in_flight() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return in_flight_;
}

absl::Status EventPool::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  absl::Status status;
  for (hipEvent_t event : free_) {
    status.Update(HipStatus("hipEventDestroy", hipEventDestroy(event)));
  }
  free_.clear();
  return status;
}

}  // namespace hip_stream_pool
