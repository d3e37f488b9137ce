// SPDX-License-Identifier: Apache-2.0
#include "sequencing_state.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "hip/call_guard.h"
#include "hip/stream_checks.h"
#include "process_pool.h"
#include "status.h"

namespace hip_stream_pool {
namespace {

// How long to sleep between two questions, and how many to ask before that.
constexpr std::chrono::microseconds kPollInterval{50};
constexpr int kAsksAtOnce = 20;

// Whether this says nothing of the recorded work but that it may not be done.
bool SaysNothing(const Result& result) {
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
    const char* function, const RocmStream& producer,
    absl::FunctionRef<Result(HipScope&)> enqueue) {
  if (IsForkedChild()) return ToStatus(Mistake::kNoHip, function);
  if (!BeginToRecord()) return ToStatus(Mistake::kEventIsDecided, function);
  absl::Status recorded = RecordNow(function, producer, enqueue);
  Finish(recorded.ok() ? Phase::kRecorded : Phase::kFailed, recorded);
  return recorded;
}

absl::Status SequencingState::SetError(const absl::Status& error) {
  constexpr char kName[] = "SequencingEvent::SetError";
  if (error.ok()) return ToStatus(Mistake::kNotAnError, kName);
  if (IsForkedChild()) return ToStatus(Mistake::kNoHip, kName);
  if (!BeginToRecord()) return ToStatus(Mistake::kEventIsDecided, kName);
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
  Result answer;
  Ask("TryIsComplete", StreamLease::Use(*lease_), &answer).IgnoreError();
  return complete_.load(std::memory_order_acquire);
}

absl::Status SequencingState::WaitOn(const RocmStream& consumer) {
  constexpr char kName[] = "SequencingEvent::WaitOn";
  if (consumer.id() == 0) return ToStatus(Mistake::kOwnsNothing, kName);
  if (!MayCallHip()) return ToStatus(Mistake::kNoHip, kName);
  absl::Status error = AwaitRecord();
  if (!error.ok() || consumer.id() == producer_id_) return error;
  while (!complete_.load(std::memory_order_acquire)) {
    if (!MayCallHip()) return ToStatus(Mistake::kNoHip, kName);
    const StreamLease::Use lease(*lease_);
    if (lease.phase() == StreamLease::Phase::kEnding) {
      std::this_thread::sleep_for(kPollInterval);
      continue;
    }
    Result answer;
    absl::Status asked = Ask(kName, lease, &answer);
    if (!asked.ok()) return asked;
    if (SaysNothing(answer)) return EnqueueWait(kName, consumer);
  }
  return this->error();
}

// Without hipEventSynchronize: it locks the event for as long as it waits, and
// so locks out all others that ask about it or have a stream wait for it.
absl::Status SequencingState::BlockHostUntilComplete() {
  constexpr char kName[] = "SequencingEvent::BlockHostUntilComplete";
  if (!MayCallHip()) return ToStatus(Mistake::kNoHip, kName);
  absl::Status error = AwaitRecord();
  if (!error.ok()) return error;
  for (int asks = 0; !complete_.load(std::memory_order_acquire); ++asks) {
    if (!MayCallHip()) return ToStatus(Mistake::kNoHip, kName);
    if (asks > kAsksAtOnce) std::this_thread::sleep_for(kPollInterval);
    Result answer;
    absl::Status asked = Ask(kName, StreamLease::Use(*lease_), &answer);
    if (!asked.ok()) return asked;
    if (!answer.ok() && answer.error != hipErrorNotReady) {
      return ToStatus(answer, {kName, device_ordinal_});
    }
  }
  return this->error();
}

void SequencingState::AndThen(Callback callback) {
  if (!callback) return;
  if (IsForkedChild()) {
    std::move(callback)(ToStatus(Mistake::kNoHip, "SequencingEvent::AndThen"));
    return;
  }
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

bool SequencingState::BeginToRecord() {
  Phase phase = Phase::kPending;
  return phase_.compare_exchange_strong(phase, Phase::kRecording,
                                        std::memory_order_relaxed);
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
    const char* function, const RocmStream& producer,
    absl::FunctionRef<Result(HipScope&)> enqueue) noexcept {
  if (producer.id() == 0) return ToStatus(Mistake::kOwnsNothing, function);
  device_ordinal_ = producer.device_ordinal();
  producer_ = producer.handle();
  producer_id_ = producer.id();
  const Called called(function, device_ordinal_);
  if (producer.IsInvalidated()) {
    return Failure(Refused(Refusal::kInvalidated), called);
  }
  lease_ = producer.Lease();
  HipScope hip(device_ordinal_);
  Result result = hip.entered();
  if (result.ok()) result = CheckStillExists(hip, producer_, device_ordinal_);
  if (result.ok()) result = CheckNotCapturing(hip, producer_);
  if (result.ok()) result = enqueue(hip);
  if (result.ok()) {
    EventPool& events = ProcessPool().device(device_ordinal_).events();
    result = event_.RecordOn(events, hip, producer_);
  }
  return ToStatus(hip.Close(result), called);
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

absl::Status SequencingState::EnqueueWait(const char* function,
                                          const RocmStream& consumer) {
  const Called called(function, consumer.device_ordinal());
  if (consumer.IsInvalidated()) {
    return Failure(Refused(Refusal::kInvalidated), called);
  }
  HipScope hip(consumer.device_ordinal());
  Result result = hip.entered();
  if (result.ok()) {
    result =
        CheckStillExists(hip, consumer.handle(), consumer.device_ordinal());
  }
  if (result.ok()) result = event_.LetWait(hip, consumer.handle());
  return ToStatus(hip.Close(result), called);
}

absl::Status SequencingState::Ask(const char* function,
                                  const StreamLease::Use& lease,
                                  Result* answer) {
  if (event_.IsInvalidated()) {
    NoteOver(ToStatus(Mistake::kDeviceWasReset, "SequencingEvent"));
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
  return AskHip({function, device_ordinal_}, answer);
}

absl::Status SequencingState::AskHip(const Called& called, Result* answer) {
  HipScope hip(device_ordinal_);
  Result result = hip.entered();
  if (result.ok()) {
    result = CheckStillExists(hip, producer_, device_ordinal_);
    if (StateOf(result) == StreamState::kGone) {
      NoteOver(ToStatus(result, called));
      return ToStatus(hip.Close(), called);
    }
  }
  // Asked about an event whose stream is in a capture by now, HIP ends the
  // capture. The default stream is in none, and asking about it ends none.
  if (result.ok() && producer_ != nullptr) {
    result = CheckNotCapturing(hip, producer_);
  }
  if (result.ok()) {
    *answer = hip.Call(hip.functions().hipEventQuery, event_.get());
    if (!SaysNothing(*answer)) NoteOver(ToStatus(*answer, called));
  }
  return ToStatus(hip.Close(result), called);
}

void SequencingState::NoteOver(const absl::Status& error) {
  MutexLock lock(mutex_);
  error_.Update(error);
  complete_.store(true, std::memory_order_release);
}

}  // namespace hip_stream_pool
