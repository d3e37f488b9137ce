// SPDX-License-Identifier: Apache-2.0
#include "sequencing_state.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "process_lifetime.h"
#include "stream_calls.h"

namespace hip_stream_pool {
namespace {

// How long to sleep between two questions, and how many to ask before that.
constexpr std::chrono::microseconds kPollInterval{50};
constexpr int kAsksAtOnce = 20;

// Whether this says nothing of the recorded work but that it may not be done.
bool SaysNothing(const HipResult& result) {
  return result.error == hipErrorNotReady ||
         result.error == hipErrorStreamCaptureUnsupported ||
         result.error == hipErrorCapturedEvent;
}

}  // namespace

// On the stack of a thread that waits for the record. Its destructor takes it
// off the event's list: a thread that is cancelled leaves no pointer to its
// stack.
class SequencingState::Waiter {
 public:
  explicit Waiter(SequencingState& state) : state_(state) {}
  ~Waiter() {
    MutexLock lock(state_.mutex_);
    std::vector<Waiter*>& all = state_.waiters_;
    all.erase(std::remove(all.begin(), all.end(), this), all.end());
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    woken_up_.wait(lock, [this] { return woken_; });
  }

  void Wake() {
    std::lock_guard<std::mutex> lock(mutex_);
    woken_ = true;
    woken_up_.notify_one();
  }

 private:
  SequencingState& state_;
  std::mutex mutex_;
  std::condition_variable woken_up_;
  bool woken_ = false;
};

absl::Status SequencingState::Record(
    const RocmStream& producer,
    absl::FunctionRef<HipResult(HipScope&)> enqueue) {
  if (IsForkedChild()) return NoHipAnyMore();
  if (!Leave(Phase::kPending, Phase::kRecording)) {
    return absl::FailedPreconditionError(
        "the event was recorded, or failed, before; that stands");
  }
  absl::Status recorded = RecordNow(producer, enqueue);
  Finish(recorded.ok() ? Phase::kRecorded : Phase::kFailed, recorded);
  return recorded;
}

absl::Status SequencingState::SetError(const absl::Status& error) {
  if (error.ok()) {
    return absl::InvalidArgumentError("SetError takes an error, not OK");
  }
  if (IsForkedChild()) return NoHipAnyMore();
  if (!Leave(Phase::kPending, Phase::kRecording)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the event was recorded, or failed, before; not set: ",
                     error.message()));
  }
  Finish(Phase::kFailed, error);
  return absl::OkStatus();
}

std::optional<bool> SequencingState::TryIsComplete() {
  switch (phase_.load(std::memory_order_acquire)) {
    case Phase::kPending:
    case Phase::kRecording:
      return std::nullopt;
    case Phase::kFailed:
      return true;
    case Phase::kRecorded:
      break;
  }
  if (complete_.load(std::memory_order_acquire)) return true;
  if (IsForkedChild()) return false;
  HipResult answer;
  Ask(StreamLease::Use(*lease_), &answer).IgnoreError();
  return complete_.load(std::memory_order_acquire);
}

absl::Status SequencingState::WaitOn(const RocmStream& consumer) {
  if (consumer.id() == 0) return OwnsNothing();
  if (!MayCallHip()) return NoHipAnyMore();
  absl::Status error = AwaitRecord();
  if (!error.ok() || consumer.id() == producer_id_) return error;
  while (!complete_.load(std::memory_order_acquire)) {
    if (!MayCallHip()) return NoHipAnyMore();
    const StreamLease::Use lease(*lease_);
    if (lease.phase() == StreamLease::Phase::kEnding) {
      std::this_thread::sleep_for(kPollInterval);
      continue;
    }
    HipResult answer;
    absl::Status asked = Ask(lease, &answer);
    if (!asked.ok()) return asked;
    if (SaysNothing(answer)) return EnqueueWait(consumer);
  }
  return this->error();
}

// Without hipEventSynchronize: it locks the event for as long as it waits, and
// so whoever asks about it, or has a stream wait for it, out.
absl::Status SequencingState::BlockHostUntilComplete() {
  if (!MayCallHip()) return NoHipAnyMore();
  absl::Status error = AwaitRecord();
  if (!error.ok()) return error;
  for (int asks = 0; !complete_.load(std::memory_order_acquire); ++asks) {
    if (!MayCallHip()) return NoHipAnyMore();
    if (asks > kAsksAtOnce) std::this_thread::sleep_for(kPollInterval);
    HipResult answer;
    absl::Status asked = Ask(StreamLease::Use(*lease_), &answer);
    if (!asked.ok()) return asked;
    if (!answer.ok() && answer.error != hipErrorNotReady) {
      return ToStatus(answer, device_ordinal_);
    }
  }
  return this->error();
}

void SequencingState::AndThen(Callback callback) {
  if (!callback) return;
  if (IsForkedChild()) return std::move(callback)(NoHipAnyMore());
  {
    MutexLock lock(mutex_);
    if (!IsOver(phase_.load(std::memory_order_relaxed))) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  std::move(callback)(error());
}

absl::Status SequencingState::error() {
  MutexLock lock(mutex_);
  return error_;
}

bool SequencingState::Leave(Phase from, Phase to) {
  return phase_.compare_exchange_strong(from, to, std::memory_order_relaxed);
}

void SequencingState::Finish(Phase phase, const absl::Status& error) {
  std::vector<Callback> callbacks;
  {
    MutexLock lock(mutex_);
    error_ = error;
    phase_.store(phase, std::memory_order_release);
    // Under the lock: a waiter that is cancelled waits for this.
    for (Waiter* waiter : waiters_) waiter->Wake();
    waiters_.clear();
    callbacks.swap(callbacks_);
  }
  for (Callback& callback : callbacks) std::move(callback)(error);
}

absl::Status SequencingState::RecordNow(
    const RocmStream& producer,
    absl::FunctionRef<HipResult(HipScope&)> enqueue) noexcept {
  if (producer.id() == 0) return OwnsNothing();
  if (producer.IsInvalidated()) return ToStatus(kNoSuchStream);
  device_ordinal_ = producer.device_ordinal();
  producer_ = producer.handle();
  producer_id_ = producer.id();
  lease_ = producer.Lease();
  HipScope hip(device_ordinal_);
  HipResult result = hip.entered();
  if (result.ok()) {
    result = CheckDevice(hip, producer_, device_ordinal_).result();
  }
  if (result.ok()) result = CheckNotCapturing(hip, producer_).result();
  if (result.ok()) result = enqueue(hip);
  if (result.ok()) result = event_.RecordOn(hip, producer_);
  return ToStatus(hip.Close(result), device_ordinal_);
}

absl::Status SequencingState::AwaitRecord() {
  if (IsOver(phase_.load(std::memory_order_acquire))) return error();
  Waiter waiter(*this);
  {
    MutexLock lock(mutex_);
    if (IsOver(phase_.load(std::memory_order_relaxed))) return error_;
    waiters_.push_back(&waiter);
  }
  waiter.Wait();
  return error();
}

absl::Status SequencingState::EnqueueWait(const RocmStream& consumer) {
  if (consumer.IsInvalidated()) return ToStatus(kNoSuchStream);
  HipScope hip(consumer.device_ordinal());
  HipResult result = hip.entered();
  if (result.ok()) {
    result =
        CheckDevice(hip, consumer.handle(), consumer.device_ordinal()).result();
  }
  if (result.ok()) result = event_.LetWait(hip, consumer.handle());
  return ToStatus(hip.Close(result), consumer.device_ordinal());
}

absl::Status SequencingState::Ask(const StreamLease::Use& lease,
                                  HipResult* answer) {
  if (event_.IsInvalidated()) {
    NoteOver(absl::FailedPreconditionError("the device was reset"));
    return absl::OkStatus();
  }
  switch (lease.phase()) {
    case StreamLease::Phase::kLive:
      break;
    case StreamLease::Phase::kEnding:
      *answer = {"", hipErrorNotReady};
      return absl::OkStatus();
    case StreamLease::Phase::kOver:
      NoteOver(lease.error());
      return absl::OkStatus();
  }
  HipScope hip(device_ordinal_);
  HipResult result = hip.entered();
  if (result.ok()) {
    const StreamFinding finding = CheckDevice(hip, producer_, device_ordinal_);
    result = finding.result();
    if (finding.verdict == StreamFinding::kGone) {
      NoteOver(ToStatus(result, device_ordinal_));
      return ToStatus(hip.Close(), device_ordinal_);
    }
  }
  // Asked about an event whose stream is in a capture by now, HIP ends the
  // capture. The default stream is in none, and asking about it ends none.
  if (result.ok() && producer_ != nullptr) {
    result = CheckNotCapturing(hip, producer_).result();
  }
  if (result.ok()) {
    *answer = hip.Call("hipEventQuery", hipEventQuery(event_.get()));
    if (!SaysNothing(*answer)) NoteOver(ToStatus(*answer, device_ordinal_));
  }
  return ToStatus(hip.Close(result), device_ordinal_);
}

void SequencingState::NoteOver(const absl::Status& error) {
  MutexLock lock(mutex_);
  error_.Update(error);
  complete_.store(true, std::memory_order_release);
}

}  // namespace hip_stream_pool
