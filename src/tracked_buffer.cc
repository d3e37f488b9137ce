// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/tracked_buffer.h"

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "hip/hip_runtime_api.h"
#include "hip_scope.h"
#include "mutex.h"
#include "process_lifetime.h"
#include "sequencing_state.h"

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
  std::shared_ptr<SequencingState> state_ ABSL_GUARDED_BY(mutex_);
};

TrackedBuffer::TrackedBuffer(void* data, size_t size)
    : definition_(std::make_shared<Definition>()), data_(data), size_(size) {}

absl::StatusOr<TrackedBuffer> TrackedBuffer::Slice(size_t offset,
                                                   size_t size) const {
  if (offset > size_ || size > size_ - offset) {
    return absl::InvalidArgumentError(
        absl::StrCat("a slice of ", size, " bytes from ", offset,
                     " of a buffer of ", size_, " bytes"));
  }
  TrackedBuffer slice = *this;
  if (data_ != nullptr) slice.data_ = static_cast<char*>(data_) + offset;
  slice.size_ = size;
  return slice;
}

absl::Status TrackedBuffer::SetProducerEvent(
    // NOLINTNEXTLINE(performance-unnecessary-value-param): the interface's.
    std::shared_ptr<SequencingEvent> event) const {
  if (IsForkedChild()) return NoHipAnyMore();
  if (event == nullptr) {
    return absl::InvalidArgumentError("the producer event is nullptr");
  }
  if (!definition_->Set(event)) {
    return absl::FailedPreconditionError(
        "the buffer has a producer event, which stands");
  }
  return absl::OkStatus();
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
  if (IsForkedChild()) return NoHipAnyMore();
  const std::shared_ptr<SequencingState> state = definition_->state();
  return state == nullptr ? absl::OkStatus() : state->WaitOn(consumer);
}

absl::StatusOr<std::shared_ptr<SequencingEvent>> TrackedBuffer::Copy(
    const TrackedBuffer& to, const void* from, size_t size, hipMemcpyKind kind,
    const RocmStream& stream,
    absl::FunctionRef<absl::Status()> wait_until_defined) {
  if (stream.id() == 0) return OwnsNothing();
  if (to.data() == nullptr || from == nullptr) {
    return absl::InvalidArgumentError("a copy to or from nullptr");
  }
  if (size > to.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a copy of ", size, " bytes to a buffer of ", to.size(), " bytes"));
  }
  std::shared_ptr<SequencingEvent> event = SequencingEvent::Create();
  absl::Status status = to.SetProducerEvent(event);
  if (!status.ok()) return status;
  status = wait_until_defined();
  if (!status.ok()) {
    event->SetError(status).IgnoreError();
    return status;
  }
  status = event->state_.Record(stream, [&](HipScope& hip) {
    return hip.Call("hipMemcpyAsync", hipMemcpyAsync(to.data(), from, size,
                                                     kind, stream.handle()));
  });
  if (!status.ok()) return status;
  return event;
}

absl::StatusOr<std::shared_ptr<SequencingEvent>> CopyHostToDevice(
    const TrackedBuffer& to, const void* from, size_t size,
    const RocmStream& h2d) {
  return TrackedBuffer::Copy(to, from, size, hipMemcpyHostToDevice, h2d,
                             absl::OkStatus);
}

absl::StatusOr<std::shared_ptr<SequencingEvent>> CopyDeviceToDevice(
    const TrackedBuffer& to, const TrackedBuffer& from, size_t size,
    const RocmStream& d2d) {
  if (size > from.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a copy of ", size, " bytes from a buffer of ", from.size()));
  }
  if (to.definition_ == from.definition_) {
    return absl::InvalidArgumentError(
        "a copy within one buffer would be its own producer");
  }
  return TrackedBuffer::Copy(to, from.data(), size, hipMemcpyDeviceToDevice,
                             d2d, [&] { return from.WaitUntilDefined(d2d); });
}

}  // namespace hip_stream_pool
