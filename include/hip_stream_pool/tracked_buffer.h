// SPDX-License-Identifier: Apache-2.0
//
// TrackedBuffer is device memory that it doesn't own, and the event that says
// when it is written. Copies and slices are of the same memory and share the
// event: whoever has one can wait for the writer on a stream of its own.
//
//   TrackedBuffer buffer(memory, size);
//   auto copied = CopyHostToDevice(buffer, from, size, h2d);  // does not wait
//   ...
//   absl::Status defined = buffer.WaitUntilDefined(compute);  // any thread
//   if (!defined.ok()) return defined;
//   Enqueue(kernel, buffer.data(), compute);
//
// A buffer that nobody has promised to write counts as written: enqueue the
// copy before readers get the buffer, or give it an event first
// (SetProducerEvent) and record that when the work is enqueued; a reader then
// waits on the host until it is recorded.
//
// All members may be called from any thread. A buffer does not keep the promise
// to record its event (see SequencingEvent), nor does an event its buffer.
#ifndef HIP_STREAM_POOL_TRACKED_BUFFER_H_
#define HIP_STREAM_POOL_TRACKED_BUFFER_H_

#include <cstddef>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/rocm_stream.h"
#include "hip_stream_pool/sequencing_event.h"

namespace hip_stream_pool {

class TrackedBuffer {
 public:
  // `size` is in bytes, as all sizes and offsets here. A buffer without a
  // producer event is defined.
  TrackedBuffer(void* data, size_t size);

  void* data() const { return data_; }
  size_t size() const { return size_; }

  // `size` bytes from `offset`. InvalidArgument if this has fewer.
  absl::StatusOr<TrackedBuffer> Slice(size_t offset, size_t size) const;

  // The event says when the whole buffer is written, of which this may be a
  // slice. Once: FailedPrecondition if there is one, which stands.
  // InvalidArgument for nullptr.
  absl::Status SetProducerEvent(std::shared_ptr<SequencingEvent> event) const;

  // The producer event; nullptr if there is none, in a forked child and, with
  // `null_if_past`, if its work is done and did not fail. Never blocks. To hold
  // it is not to hold the promise to record it.
  std::shared_ptr<SequencingEvent> DefinitionEvent(bool null_if_past) const;

  // Later work on the consumer finds the buffer written: WaitOn of the producer
  // event, with its errors. OK if there is none.
  absl::Status WaitUntilDefined(const RocmStream& consumer) const;

 private:
  friend absl::StatusOr<std::shared_ptr<SequencingEvent>> CopyHostToDevice(
      const TrackedBuffer& to, const void* from, size_t size,
      const RocmStream& h2d);
  friend absl::StatusOr<std::shared_ptr<SequencingEvent>> CopyDeviceToDevice(
      const TrackedBuffer& to, const TrackedBuffer& from, size_t size,
      const RocmStream& d2d);

  class Definition;

  static absl::StatusOr<std::shared_ptr<SequencingEvent>> Copy(
      const char* function, const TrackedBuffer& to, const void* from,
      size_t size, hipMemcpyKind kind, const RocmStream& stream,
      absl::FunctionRef<absl::Status()> wait_until_defined);

  // Shared by all copies and slices.
  std::shared_ptr<Definition> definition_;
  void* data_;
  size_t size_;
};

// Enqueues the copy on the stream, and returns the event of its end, which is
// the producer event of `to` already when the copy is enqueued. `from` must
// stay as it is until the copy is done. Errors that change nothing:
//   InvalidArgument     nullptr, or more bytes than `to` has
//   FailedPrecondition  `to` has a producer event; the stream owns nothing; a
//                       forked child
// After any other error (see SequencingEvent; FailedPrecondition too, if the
// stream is in a capture) `to` has its producer event, which has failed with
// that error; and the copy may be under way all the same: only the stream knows
// when it ends.
absl::StatusOr<std::shared_ptr<SequencingEvent>> CopyHostToDevice(
    const TrackedBuffer& to, const void* from, size_t size,
    const RocmStream& h2d);

// Likewise, from memory of the same device or of another. The stream waits for
// the producer event of `from`, for which this can block the host: see WaitOn.
// If that event has failed, so has this one. InvalidArgument also if `from` has
// fewer bytes, or shares its memory's event with `to`.
absl::StatusOr<std::shared_ptr<SequencingEvent>> CopyDeviceToDevice(
    const TrackedBuffer& to, const TrackedBuffer& from, size_t size,
    const RocmStream& d2d);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_TRACKED_BUFFER_H_
