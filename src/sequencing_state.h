// SPDX-License-Identifier: Apache-2.0
//
// SequencingState is what stands behind a SequencingEvent, which is a part of
// it: whether the event is recorded, the HIP event, the error, the callbacks.
// The promise to record it, and the buffers that it defines, share it. It knows
// neither, so none keeps another alive.
//
// Thread-safe. Phases go one way:
//
//   kPending ──▶ kRecording ──▶ kRecorded
//                    └────────▶ kFailed
//
// kRecording is one thread's, which makes the HIP calls for it with no lock
// held. From kRecorded on, nothing changes but what HIP says of the work.
#ifndef HIP_STREAM_POOL_SRC_SEQUENCING_STATE_H_
#define HIP_STREAM_POOL_SRC_SEQUENCING_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "hip/hip_scope.h"
#include "hip_stream_pool/rocm_stream.h"
#include "hip_stream_pool/sequencing_event.h"
#include "pool/mutex.h"
#include "pool/pooled_event.h"
#include "status.h"
#include "stream_lease.h"

namespace hip_stream_pool {

class SequencingState : public std::enable_shared_from_this<SequencingState> {
 public:
  using Callback = absl::AnyInvocable<void(const absl::Status&) &&>;

  SequencingState() = default;
  SequencingState(const SequencingState&) = delete;
  SequencingState& operator=(const SequencingState&) = delete;

  // The event, for as long as the pointer is kept. Not the promise.
  std::shared_ptr<SequencingEvent> AsEvent() {
    return {shared_from_this(), &as_event_};
  }

  // See SequencingEvent, here and below. `enqueue` makes the HIP calls of the
  // work itself, where the producer's device is current.
  absl::Status Record(const char* function, const RocmStream& producer,
                      absl::FunctionRef<Result(HipScope&)> enqueue);

  absl::Status SetError(const absl::Status& error);
  std::optional<bool> TryIsComplete();
  absl::Status WaitOn(const RocmStream& consumer);
  absl::Status BlockHostUntilComplete();
  void AndThen(Callback callback);

  // The producer's error; OK if none is known.
  absl::Status error();

 private:
  class Waiter;
  enum class Phase { kPending, kRecording, kRecorded, kFailed };

  // Leaves kPending for kRecording, if that is the phase.
  bool BeginToRecord();
  // Ends the recording, or fails the event, and runs the callbacks.
  void Finish(Phase phase, const absl::Status& error);
  absl::Status RecordNow(const char* function, const RocmStream& producer,
                         absl::FunctionRef<Result(HipScope&)> enqueue) noexcept;
  static bool IsOver(Phase phase) {
    return phase == Phase::kRecorded || phase == Phase::kFailed;
  }
  // Blocks until the event is recorded or has failed. Returns the error.
  absl::Status AwaitRecord();
  absl::Status EnqueueWait(const char* function, const RocmStream& consumer);
  // Asks HIP, where that may be and is needed, whether the recorded work is
  // over, and notes it if so; then `answer` says nothing else. An error if it
  // could not be asked: where the question would break a capture, or HIP
  // failed.
  absl::Status Ask(const char* function, const StreamLease::Use& lease,
                   Result* answer);
  absl::Status AskHip(const Called& called, Result* answer);
  // The work is over: done, or failed.
  void NoteOver(const absl::Status& error);

  SequencingEvent as_event_{*this};

  // Set before the phase is kRecorded, and constant from then on.
  PooledEvent event_;
  int device_ordinal_ = 0;
  hipStream_t producer_ = nullptr;
  uint64_t producer_id_ = 0;
  std::shared_ptr<StreamLease> lease_;  // the producer's

  std::atomic<Phase> phase_{Phase::kPending};
  std::atomic<bool> complete_{false};  // recorded, and the work is over

  Mutex mutex_;
  absl::Status error_ HSP_GUARDED_BY(mutex_);
  // One on the stack of each thread that waits for the record: a condition
  // variable here could not be destroyed in a child that was forked meanwhile.
  std::vector<Waiter*> waiters_ HSP_GUARDED_BY(mutex_);
  std::vector<Callback> callbacks_ HSP_GUARDED_BY(mutex_);
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_SEQUENCING_STATE_H_
