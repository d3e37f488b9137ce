// SPDX-License-Identifier: Apache-2.0
#include "pool/pooled_event.h"

#include "hip/call_guard.h"
#include "hip/stream_checks.h"

namespace hip_stream_pool {

PooledEvent::~PooledEvent() {
  if (pool_ != nullptr && MayCallHip()) pool_->Return(event_);
}

Result PooledEvent::RecordOn(EventPool& pool, HipScope& hip,
                             hipStream_t stream) {
  const uint64_t epoch = pool.epoch();
  hipEvent_t event = nullptr;
  Result result = pool.Acquire(hip, &event);
  if (!result.ok()) return result;
  result = hip.Call(hip.functions().hipEventRecord, event, stream);
  if (!result.ok()) {
    hip.Call(hip.functions().hipEventDestroy, event);
    return result;
  }
  pool_ = &pool;
  event_ = event;
  epoch_ = epoch;
  return result;
}

Result PooledEvent::RecordOnAny(EventPool& pool, HipScope& hip,
                                hipStream_t stream) {
  const Result checked = CheckNotCapturing(hip, stream);
  const bool capturing = StateOf(checked) == StreamState::kCapturing;
  if (!checked.ok() && !capturing) return checked;
  const Result result = RecordOn(pool, hip, stream);
  if (result.ok() && capturing) pool_ = nullptr;
  return result;
}

Result PooledEvent::LetWait(HipScope& hip, hipStream_t stream) const {
  const bool in_a_capture = pool_ == nullptr;
  if (!in_a_capture) {
    const Result result = CheckNotCapturing(hip, stream);
    if (!result.ok()) return result;
  }
  return hip.Call(hip.functions().hipStreamWaitEvent, stream, get(),
                  /*flags=*/0u);
}

}  // namespace hip_stream_pool
