// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/tracked_buffer.h"

#include "hip/call_guard.h"
#include "hip/hip_runtime_api.h"
#include "hip/hip_scope.h"
#include "pool/mutex.h"
#include "sequencing_state.h"
#include "status.h"

namespace hip_stream_pool {

// Keeps the event, and not the promise to record it.
class TrackedBuffer::Definition {
 public:
  bool Set(const std::shared_ptr<SequencingEvent>& event) {
    MutexLock lock(mutex_);
    if (state_ != nullptr) return false;
    state_ = event->state_.shared_from_this();
    return true;
  }

  std::shared_ptr<SequencingState> state() {
    MutexLock lock(mutex_);
    return state_;
  }

 private:
  Mutex mutex_;
  std::shared_ptr<SequencingState> state_ HSP_GUARDED_BY(mutex_);
};

TrackedBuffer::TrackedBuffer(void* data, size_t size)
    : definition_(std::make_shared<Definition>()), data_(data), size_(size) {}

absl::StatusOr<TrackedBuffer> TrackedBuffer::Slice(size_t offset,
                                                   size_t size) const {
  if (offset > size_ || size > size_ - offset) {
    return TooManyBytes("TrackedBuffer::Slice", size, offset, size_);
  }
  TrackedBuffer slice = *this;
  if (data_ != nullptr) slice.data_ = static_cast<char*>(data_) + offset;
  slice.size_ = size;
  return slice;
}

absl::Status TrackedBuffer::SetProducerEvent(
    // NOLINTNEXTLINE(performance-unnecessary-value-param): the interface's.
    std::shared_ptr<SequencingEvent> event) const {
  constexpr char kName[] = "TrackedBuffer::SetProducerEvent";
  if (IsForkedChild()) return ToStatus(Mistake::kNoHip, kName);
  if (event == nullptr) return ToStatus(Mistake::kNoEvent, kName);
  return definition_->Set(event) ? absl::OkStatus()
                                 : ToStatus(Mistake::kBufferHasEvent, kName);
}

std::shared_ptr<SequencingEvent> TrackedBuffer::DefinitionEvent(
    bool null_if_past) const {
  if (IsForkedChild()) return nullptr;
  const std::shared_ptr<SequencingState> state = definition_->state();
  if (state == nullptr) return nullptr;
  if (null_if_past && state->TryIsComplete() == true && state->error().ok()) {
    return nullptr;
  }
  return state->AsEvent();
}

absl::Status TrackedBuffer::WaitUntilDefined(const RocmStream& consumer) const {
  if (IsForkedChild()) {
    return ToStatus(Mistake::kNoHip, "TrackedBuffer::WaitUntilDefined");
  }
  const std::shared_ptr<SequencingState> state = definition_->state();
  return state == nullptr ? absl::OkStatus() : state->WaitOn(consumer);
}

absl::StatusOr<std::shared_ptr<SequencingEvent>> TrackedBuffer::Copy(
    const char* function, const TrackedBuffer& to, const void* from,
    size_t size, hipMemcpyKind kind, const RocmStream& stream,
    absl::FunctionRef<absl::Status()> wait_until_defined) {
  if (stream.id() == 0) return ToStatus(Mistake::kOwnsNothing, function);
  if (to.data() == nullptr || from == nullptr) {
    return ToStatus(Mistake::kNullCopy, function);
  }
  if (size > to.size()) return TooManyBytes(function, size, 0, to.size());
  std::shared_ptr<SequencingEvent> event = SequencingEvent::Create();
  absl::Status status = to.SetProducerEvent(event);
  if (!status.ok()) return status;
  status = wait_until_defined();
  if (!status.ok()) {
    event->SetError(status).IgnoreError();
    return status;
  }
  status = event->state_.Record(function, stream, [&](HipScope& hip) {
    return hip.Call(hip.functions().hipMemcpyAsync, to.data(), from, size, kind,
                    stream.handle());
  });
  if (!status.ok()) return status;
  return event;
}

absl::StatusOr<std::shared_ptr<SequencingEvent>> CopyHostToDevice(
    const TrackedBuffer& to, const void* from, size_t size,
    const RocmStream& h2d) {
  return TrackedBuffer::Copy("CopyHostToDevice", to, from, size,
                             hipMemcpyHostToDevice, h2d, absl::OkStatus);
}

absl::StatusOr<std::shared_ptr<SequencingEvent>> CopyDeviceToDevice(
    const TrackedBuffer& to, const TrackedBuffer& from, size_t size,
    const RocmStream& d2d) {
  constexpr char kName[] = "CopyDeviceToDevice";
  if (size > from.size()) return TooManyBytes(kName, size, 0, from.size());
  if (to.definition_ == from.definition_) {
    return ToStatus(Mistake::kCopyWithin, kName);
  }
  return TrackedBuffer::Copy(kName, to, from.data(), size,
                             hipMemcpyDeviceToDevice, d2d,
                             [&] { return from.WaitUntilDefined(d2d); });
}

}  // namespace hip_stream_pool
