// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/sequencing_event.h"

#include <utility>

#include "hip/call_guard.h"
#include "sequencing_state.h"
#include "status.h"

namespace hip_stream_pool {
namespace {

// To record the event: what Create's pointer owns.
struct Promise {
  Promise() = default;
  Promise(const Promise&) = delete;
  Promise& operator=(const Promise&) = delete;
  ~Promise() {
    if (IsForkedChild()) return;
    state->SetError(ToStatus(Mistake::kPromiseDropped, "SequencingEvent"))
        .IgnoreError();
  }

  const std::shared_ptr<SequencingState> state =
      std::make_shared<SequencingState>();
};

}  // namespace

std::shared_ptr<SequencingEvent> SequencingEvent::Create() {
  auto promise = std::make_shared<Promise>();
  SequencingEvent* const event = promise->state->AsEvent().get();
  return {promise, event};
}

// A callback may drop this event: what runs callbacks keeps the state itself.
absl::Status SequencingEvent::RecordOn(const RocmStream& producer) {
  const std::shared_ptr<SequencingState> state = state_.shared_from_this();
  return state->Record("SequencingEvent::RecordOn", producer,
                       [](HipScope&) { return Result(); });
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): the interface's.
absl::Status SequencingEvent::SetError(absl::Status error) {
  const std::shared_ptr<SequencingState> state = state_.shared_from_this();
  return state->SetError(error);
}

std::optional<bool> SequencingEvent::TryIsComplete() const {
  return state_.TryIsComplete();
}

absl::Status SequencingEvent::WaitOn(const RocmStream& consumer) const {
  return state_.WaitOn(consumer);
}

absl::Status SequencingEvent::BlockHostUntilComplete() const {
  return state_.BlockHostUntilComplete();
}

void SequencingEvent::AndThen(
    absl::AnyInvocable<void(const absl::Status&) &&> callback) {
  const std::shared_ptr<SequencingState> state = state_.shared_from_this();
  state->AndThen(std::move(callback));
}

}  // namespace hip_stream_pool
