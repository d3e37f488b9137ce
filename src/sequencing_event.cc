// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/sequencing_event.h"

#include <utility>

#include "sequencing_state.h"

namespace hip_stream_pool {

std::shared_ptr<SequencingEvent> SequencingEvent::Create() {
  return std::shared_ptr<SequencingEvent>(
      new SequencingEvent(std::make_shared<SequencingState>()));
}

SequencingEvent::SequencingEvent(std::shared_ptr<SequencingState> state)
    : state_(std::move(state)) {}

SequencingEvent::~SequencingEvent() {
  state_
      ->SetError(
          absl::CancelledError("the event was dropped before it was recorded"))
      .IgnoreError();
}

// A callback may drop this event: what runs callbacks keeps the state itself.
absl::Status SequencingEvent::RecordOn(const RocmStream& producer) {
  const std::shared_ptr<SequencingState> state = state_;
  return state->Record(producer, [](HipScope&) { return HipResult{}; });
}

absl::Status SequencingEvent::SetError(absl::Status error) {
  const std::shared_ptr<SequencingState> state = state_;
  return state->SetError(std::move(error));
}

std::optional<bool> SequencingEvent::TryIsComplete() const {
  return state_->TryIsComplete();
}

absl::Status SequencingEvent::WaitOn(const RocmStream& consumer) const {
  return state_->WaitOn(consumer);
}

absl::Status SequencingEvent::BlockHostUntilComplete() const {
  return state_->BlockHostUntilComplete();
}

void SequencingEvent::AndThen(
    absl::AnyInvocable<void(const absl::Status&) &&> callback) {
  const std::shared_ptr<SequencingState> state = state_;
  state->AndThen(std::move(callback));
}

}  // namespace hip_stream_pool
