// SPDX-License-Identifier: Apache-2.0
//
// SequencingState is what a SequencingEvent and the buffers that it defines
// share: whether the event is recorded, the HIP event, the error, the
// callbacks. It knows no buffer, so the two never keep each other alive.
//
// Thread-safe. Phases go one way:
//
//   pending ──▶ recording ──▶ recorded
//      │            └───────▶ failed
//      └────────────────────▶ failed
//
// "Recording" is one thread's, which makes the HIP calls for it with no lock
// held. From "recorded" on, nothing changes but what HIP says of the work.
#ifndef HIP_STREAM_POOL_SRC_SEQUENCING_STATE_H_
#define HIP_STREAM_POOL_SRC_SEQUENCING_STATE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "hip_scope.h"
#include "hip_stream_pool/rocm_stream.h"
#include "mutex.h"
#include "pooled_event.h"

namespace hip_stream_pool {

class SequencingState {
 public:
  using Callback = absl::AnyInvocable<void(const absl::Status&) &&>;

  SequencingState() = default;
  SequencingState(const SequencingState&) = delete;
  SequencingState& operator=(const SequencingState&) = delete;

  // See SequencingEvent, here and below. `enqueue` makes the HIP calls of the
  // work itself, where the producer's device is current.
  absl::Status Record(const RocmStream& producer,
                      absl::FunctionRef<HipResult(HipScope&)> enqueue);

  absl::Status SetError(absl::Status error);
  std::optional<bool> TryIsComplete();
  absl::Status WaitOn(const RocmStream& consumer);
  absl::Status BlockHostUntilComplete();
  void AndThen(Callback callback);

  // The producer's error; OK if none is known.
  absl::Status error();

 private:
  enum class Phase { kPending, kRecording, kRecorded, kFailed };

  // Leaves `from`, if that is the phase.
  bool Leave(Phase from, Phase to);
  // Ends the recording, or fails the event, and runs the callbacks.
  void Finish(Phase phase, const absl::Status& error);
  absl::Status RecordNow(const RocmStream& producer,
                         absl::FunctionRef<HipResult(HipScope&)> enqueue);
  static bool IsOver(Phase phase) {
    return phase == Phase::kRecorded || phase == Phase::kFailed;
  }
  // Blocks until the event is recorded or has failed. Returns the error.
  absl::Status AwaitRecord();
  // Asks HIP whether the recorded work is over: done, or failed.
  bool QueryIsOver(HipScope& hip);
  // Notes what HIP answers about the recorded work.
  void NoteAnswer(const HipResult& result);

  // Set before the phase is kRecorded, and constant from then on.
  PooledEvent event_;
  int device_ordinal_ = 0;
  uint64_t producer_id_ = 0;

  std::atomic<Phase> phase_{Phase::kPending};
  std::atomic<bool> complete_{false};  // recorded, and the work is over

  Mutex mutex_;
  std::condition_variable_any finished_;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
  std::vector<Callback> callbacks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_SEQUENCING_STATE_H_
