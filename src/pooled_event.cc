// SPDX-License-Identifier: Apache-2.0
#include "pooled_event.h"

#include "devices.h"
#include "process_lifetime.h"
#include "stream_calls.h"

namespace hip_stream_pool {

PooledEvent::~PooledEvent() {
  if (pool_ != nullptr && MayCallHip()) pool_->GiveBack(event_);
}

HipResult PooledEvent::RecordOn(HipScope& hip, hipStream_t stream) {
  Devices* devices = nullptr;
  HipResult result = GetDevices(&devices);
  if (!result.ok()) return result;
  DeviceEvents& pool = *devices->events[hip.device_ordinal()];
  const uint64_t resets = pool.resets();
  hipEvent_t event = nullptr;
  result = pool.Take(hip, &event);
  if (!result.ok()) return result;
  result = hip.Call("hipEventRecord", hipEventRecord(event, stream));
  if (!result.ok()) {
    DestroyEvent(hip, event);
    return result;
  }
  pool_ = &pool;
  event_ = event;
  resets_ = resets;
  return result;
}

HipResult PooledEvent::RecordOnAny(HipScope& hip, hipStream_t stream) {
  StreamFinding finding = CheckNotCapturing(hip, stream);
  const bool capturing = finding.verdict == StreamFinding::kCapturing;
  if (finding.verdict != StreamFinding::kFine && !capturing) {
    return finding.result();
  }
  HipResult result = RecordOn(hip, stream);
  if (result.ok() && capturing) pool_ = nullptr;
  return result;
}

HipResult PooledEvent::LetWait(HipScope& hip, hipStream_t stream) const {
  const bool in_a_capture = pool_ == nullptr;
  if (!in_a_capture) {
    HipResult result = CheckNotCapturing(hip, stream).result();
    if (!result.ok()) return result;
  }
  return hip.Call("hipStreamWaitEvent",
                  hipStreamWaitEvent(stream, get(), /*flags=*/0));
}

}  // namespace hip_stream_pool
