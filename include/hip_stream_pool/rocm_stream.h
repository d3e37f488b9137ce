// SPDX-License-Identifier: Apache-2.0
//
// RocmStream owns a stream of the pool: it takes one when it is made and gives
// it back when it is destroyed. It can also stand for a stream that somebody
// else owns, which it then never destroys.
//
//   absl::StatusOr<RocmStream> stream = RocmStream::Create({});
//   if (!stream.ok()) return stream.status();
//   Enqueue(..., stream->handle());
//   return stream->Release();
//
// One RocmStream may be used by several threads at once through its const
// members; the others need the caller to keep threads apart. Every HIP call is
// made with the stream's device current, and the caller's given back. Errors,
// each naming the HIP call:
//   FailedPrecondition  this owns nothing (moved from, released); the stream
//                       was destroyed elsewhere, or its device was reset; HIP
//                       does not know the event, or it is another device's; the
//                       call would break a stream capture; the process exits,
//                       or is a forked child
//   InvalidArgument     no such device
//   ResourceExhausted   the device is out of memory
//   Internal            any other error of HIP
#ifndef HIP_STREAM_POOL_ROCM_STREAM_H_
#define HIP_STREAM_POOL_ROCM_STREAM_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/stream_key.h"

namespace hip_stream_pool {

class StreamLease;

class RocmStream {
 public:
  // Takes a stream from the pool. Errors: see CreateStream.
  static absl::StatusOr<RocmStream> Create(const StreamKey& key);

  // Stands for a stream of that device that the caller owns and keeps alive,
  // for as long too as anyone may wait for a SequencingEvent that was recorded
  // on it; nullptr is the device's default stream. InvalidArgument for a device
  // that does not exist, for the legacy stream's handle (use nullptr), for the
  // per-thread stream's, which is another stream on each thread, and, from
  // HIP 5.6, for a stream of another device; FailedPrecondition for a stream
  // that does not exist.
  static absl::StatusOr<RocmStream> Borrow(int device_ordinal,
                                           hipStream_t external);

  RocmStream(RocmStream&& other) noexcept { Swap(other); }
  RocmStream& operator=(RocmStream&& other) noexcept;
  RocmStream(const RocmStream&) = delete;
  RocmStream& operator=(const RocmStream&) = delete;
  // Release(), without its error. A hook that throws here ends the process.
  ~RocmStream();

  // nullptr when this owns nothing, and for a borrowed default stream.
  hipStream_t handle() const { return handle_; }
  int device_ordinal() const { return device_ordinal_; }
  bool is_borrowed() const { return id_ != 0 && lease_id_ == 0; }

  // Identifies this lease: unique in the process and never used again, unlike
  // the handle. 0 when this owns nothing.
  uint64_t id() const { return id_; }

  // Whether all work enqueued so far is done. Never blocks.
  absl::StatusOr<bool> IsIdle() const;

  // Waits until all work enqueued so far is done.
  absl::Status BlockHostUntilDone() const;

  // Records the event, of this device, after the work enqueued so far.
  absl::Status RecordEvent(hipEvent_t event) const;

  // Later work on this stream waits for the event, of any device.
  absl::Status WaitFor(hipEvent_t event) const;

  // Later work on this stream waits for the work on `other` so far.
  // FailedPrecondition if this stream is in a stream capture and `other` is
  // not: HIP would not have the graph wait. If `other` is, this stream joins
  // its capture, and one HIP event is never freed.
  absl::Status WaitFor(const RocmStream& other) const;

  // Runs the callback once on a thread of HIP's, after the work enqueued so
  // far, also if that failed. The callback must make no HIP call and must not
  // throw. If this returns an error, the callback is destroyed without being
  // run, unless all that failed was to give the caller's device or capture mode
  // back.
  absl::Status DoHostCallback(absl::AnyInvocable<void() &&> callback) const;

  // Adds a hook that Release runs, after the stream's work is done and before
  // the handle can be given to another user; the last added runs first. If the
  // device was reset (see StreamHandleCache::Invalidate), the stream is gone
  // and HIP may have given its handle away: the hook then runs with nullptr. It
  // may create and release other streams. The place to take the handle out of a
  // library (rocBLAS, MIOpen ...) that was set to it. Dropped, not run, while
  // the process exits and in a forked child, where no handle is leased again,
  // and on a RocmStream that owns nothing.
  void OnRelease(absl::AnyInvocable<void(hipStream_t) &&> hook);

  // Waits for the work, runs the hooks and gives the handle back with
  // DestroyStream. A borrowed stream is not waited for. Returns the first
  // error; this owns nothing afterwards, whatever it is. If a hook throws, the
  // others run, the handle goes back, and the exception leaves; a second one
  // that throws ends the process. An error of the stream's work, such as a
  // failed kernel, is returned here.
  absl::Status Release();

 private:
  friend class SequencingState;
  friend class StreamContext;
  RocmStream(int device_ordinal, hipStream_t handle, uint64_t lease);
  void Swap(RocmStream& other) noexcept;
  template <typename Call>
  absl::Status CallHip(const char* function, Call call) const;
  template <typename Call>
  absl::Status CallHipOutsideCapture(const char* function, Call call) const;
  absl::Status WaitAndRunHooks();
  // `status`: what went wrong so far. Returns the first error.
  absl::Status GiveBack(StreamLease* lease, absl::Status status);
  std::shared_ptr<StreamLease> Lease() const;
  bool IsInvalidated() const;

  int device_ordinal_ = 0;
  hipStream_t handle_ = nullptr;
  uint64_t lease_id_ = 0;  // the pool's; 0 if the stream is not of the pool
  uint64_t id_ = 0;
  std::vector<absl::AnyInvocable<void(hipStream_t) &&>> hooks_;
  // Made when somebody first asks for it.
  mutable std::atomic<std::shared_ptr<StreamLease>*> lease_{nullptr};
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_ROCM_STREAM_H_
