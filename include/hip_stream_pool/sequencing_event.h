// SPDX-License-Identifier: Apache-2.0
//
// SequencingEvent says when work on one stream is done, to those who go on with
// its result on another. How far the reader's own stream has got says nothing
// about work on another one. The event exists before the work is enqueued, so a
// reader can't come too early: it waits until the event is recorded, and then
// has its stream wait for the work.
//
//   auto written = SequencingEvent::Create();
//   worker.Schedule([=, &h2d] {
//     Enqueue(h2d);                        // the work
//     absl::Status recorded = written->RecordOn(h2d);
//   });
//   absl::Status waits = written->WaitOn(compute);   // on any thread
//   Read(compute);
//
// The pointer that Create returns is a promise to record the event. If all its
// copies go before that was done, the event fails, and whoever waits hears of
// it. A TrackedBuffer is not a copy, nor is the pointer that it gives. A
// callback must not hold this pointer: an event that is never recorded would
// keep the callback, and the callback the event.
//
// Once the producer is released its work is done, so the event is complete;
// what Release returned is then the event's error. After StreamHandleCache's
// Invalidate, an event that was recorded on that device and was not known to be
// complete has failed; one that is not recorded yet can still be recorded, on a
// stream that was created after it. No thread may begin a
// stream capture on the producer or the consumer while another is in a call
// here: HIP would end it.
//
// All members may be called from any thread; none makes a HIP call while a lock
// is held. A forked child runs no callback of its parent's. Errors, unless
// stated otherwise:
//   the producer's      that of SetError; of the HIP call that recorded the
//                       event; of the work, where HIP reports it; Cancelled if
//                       the promise was dropped
//   FailedPrecondition  a stream owns nothing, or is gone (see RocmStream); the
//                       producer or the consumer is
//                       in a stream capture, which this would break; the
//                       process exits, or is a forked child
//   Internal            any other error of HIP
#ifndef HIP_STREAM_POOL_SEQUENCING_EVENT_H_
#define HIP_STREAM_POOL_SEQUENCING_EVENT_H_

#include <memory>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "hip_stream_pool/rocm_stream.h"

namespace hip_stream_pool {

class SequencingState;

class SequencingEvent {
 public:
  static std::shared_ptr<SequencingEvent> Create();

  SequencingEvent(const SequencingEvent&) = delete;
  SequencingEvent& operator=(const SequencingEvent&) = delete;

  // The event now stands for the work on the producer so far.
  // FailedPrecondition if it was recorded or failed before; that stands. After
  // any other error the event has failed with it, so that nobody waits for
  // ever.
  absl::Status RecordOn(const RocmStream& producer);

  // Fails the event because its work could not be enqueued; every wait then
  // returns the error. An OK status is InvalidArgument. FailedPrecondition as
  // above.
  absl::Status SetError(absl::Status error);

  // Nothing while the event is not recorded; then whether the work is known to
  // be done. A failed event has nothing left to wait for: true. Never blocks.
  std::optional<bool> TryIsComplete() const;

  // Later work on the consumer waits for the event. Blocks the host until the
  // event is recorded, and no longer: not to be called on the thread that is to
  // record it. Nothing is enqueued if the work is done, or is the consumer's
  // own (its lease's: see RocmStream::id).
  absl::Status WaitOn(const RocmStream& consumer) const;

  // Waits until the event is recorded and its work done.
  absl::Status BlockHostUntilComplete() const;

  // Runs the callback once: on the thread that records or fails the event, at
  // once if that was done before. Its status says that the event is recorded,
  // or why it failed; it does not wait for the work. It may use and drop the
  // event, and must not throw.
  void AndThen(absl::AnyInvocable<void(const absl::Status&) &&> callback);

 private:
  friend class SequencingState;
  friend class TrackedBuffer;
  explicit SequencingEvent(SequencingState& state) : state_(state) {}

  SequencingState& state_;  // which this is a part of
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SEQUENCING_EVENT_H_
