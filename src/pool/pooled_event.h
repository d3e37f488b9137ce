// SPDX-License-Identifier: Apache-2.0
//
// PooledEvent owns a HIP event of its device's pool, from its record on a
// stream until it is destroyed; then the event goes back, with no HIP call.
// Waits that are enqueued for it stay good.
#ifndef HIP_STREAM_POOL_SRC_POOL_POOLED_EVENT_H_
#define HIP_STREAM_POOL_SRC_POOL_POOLED_EVENT_H_

#include <cstdint>

#include "hip/hip_runtime_api.h"
#include "hip/hip_scope.h"
#include "pool/event_pool.h"

namespace hip_stream_pool {

class PooledEvent {
 public:
  PooledEvent() = default;
  ~PooledEvent();
  PooledEvent(const PooledEvent&) = delete;
  PooledEvent& operator=(const PooledEvent&) = delete;

  // Takes an event of the pool and records it after the work so far of a
  // stream, both of `hip`'s device. Once.
  Result RecordOn(EventPool& pool, HipScope& hip, hipStream_t stream);

  // Likewise, of a stream that may take part in a stream capture. Versions of
  // HIP write to such an event when the capture ends, so it never goes back.
  Result RecordOnAny(EventPool& pool, HipScope& hip, hipStream_t stream);

  // The later work of a stream of `hip`'s device waits for the event. Refused
  // where the stream takes part in a capture and the event does not: HIP says
  // OK to that, and the graph waits for nothing.
  Result LetWait(HipScope& hip, hipStream_t stream) const;

  // nullptr until the event is recorded.
  hipEvent_t get() const { return event_; }

  // Whether Invalidate has been called for its device since the record.
  bool IsInvalidated() const {
    return pool_ != nullptr && pool_->epoch() != epoch_;
  }

 private:
  // nullptr if there is nothing to give back: not recorded, or in a capture.
  EventPool* pool_ = nullptr;
  hipEvent_t event_ = nullptr;
  uint64_t epoch_ = 0;  // of the pool, at the record
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_POOL_POOLED_EVENT_H_
