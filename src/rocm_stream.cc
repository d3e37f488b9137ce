// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/rocm_stream.h"

#include <atomic>
#include <memory>
#include <utility>

#include "devices.h"
#include "hip_scope.h"
#include "hip_version.h"
#include "lease.h"
#include "pooled_event.h"
#include "process_lifetime.h"
#include "stream_calls.h"
#include "stream_lease.h"

namespace hip_stream_pool {
namespace {

uint64_t NextLeaseId() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

using HostCallback = absl::AnyInvocable<void() &&>;

void RunHostCallback(void* callback) {
  std::unique_ptr<HostCallback> owned(static_cast<HostCallback*>(callback));
  std::move (*owned)();
}

HipResult EnqueueHostCallback(HipScope& hip, hipStream_t stream,
                              HostCallback* callback) {
#if HIP_STREAM_POOL_HAS_LAUNCH_HOST_FUNC
  return hip.Call("hipLaunchHostFunc",
                  hipLaunchHostFunc(stream, RunHostCallback, callback));
#else
  return hip.Call("hipStreamAddCallback",
                  hipStreamAddCallback(
                      stream,
                      [](hipStream_t, hipError_t, void* argument) {
                        RunHostCallback(argument);
                      },
                      callback, /*flags=*/0));
#endif
}

}  // namespace

// Runs call(HipScope&) with the stream's device current, if the stream exists.
template <typename Call>
absl::Status RocmStream::CallHip(Call call) const {
  if (id_ == 0) return OwnsNothing();
  if (IsInvalidated()) return ToStatus(kNoSuchStream);
  HipScope hip(device_ordinal_);
  HipResult result = hip.entered();
  if (result.ok()) result = CheckDevice(hip, handle_, device_ordinal_).result();
  if (result.ok()) result = call(hip);
  return ToStatus(hip.Close(result), device_ordinal_);
}

// Whether Invalidate has ended this lease; of an external stream nobody knows.
bool RocmStream::IsInvalidated() const {
  return lease_id_ != 0 && !IsLeased(device_ordinal_, handle_, lease_id_);
}

absl::StatusOr<RocmStream> RocmStream::Create(const StreamKey& key) {
  uint64_t lease = 0;
  absl::StatusOr<hipStream_t> handle = AcquireStream(key, &lease);
  if (!handle.ok()) return handle.status();
  return RocmStream(key.device_ordinal, *handle, lease);
}

absl::StatusOr<RocmStream> RocmStream::Borrow(int device_ordinal,
                                              hipStream_t external) {
  if (external == hipStreamPerThread) {
    return absl::InvalidArgumentError(
        "the per-thread stream's handle, which is another stream on each "
        "thread");
  }
  Devices* devices = nullptr;
  absl::Status valid = GetDevicesWith(device_ordinal, &devices);
  if (!valid.ok()) return valid;
  HipScope hip(device_ordinal);
  HipResult result = hip.entered();
  if (result.ok()) valid = CheckCallersStream(device_ordinal, external);
  result = hip.Close(result);
  valid.Update(ToStatus(result, device_ordinal));
  if (!valid.ok()) return valid;
  return RocmStream(device_ordinal, external, /*lease=*/0);
}

RocmStream::RocmStream(int device_ordinal, hipStream_t handle, uint64_t lease)
    : device_ordinal_(device_ordinal),
      handle_(handle),
      lease_id_(lease),
      id_(NextLeaseId()) {}

RocmStream& RocmStream::operator=(RocmStream&& other) noexcept {
  RocmStream taken(std::move(other));
  Swap(taken);
  return *this;
}

RocmStream::~RocmStream() {
  if (id_ != 0) Release().IgnoreError();
}

void RocmStream::Swap(RocmStream& other) noexcept {
  std::swap(device_ordinal_, other.device_ordinal_);
  std::swap(handle_, other.handle_);
  std::swap(lease_id_, other.lease_id_);
  std::swap(id_, other.id_);
  std::swap(hooks_, other.hooks_);
  lease_ = other.lease_.exchange(lease_);
}

std::shared_ptr<StreamLease> RocmStream::Lease() const {
  std::shared_ptr<StreamLease>* lease = lease_.load(std::memory_order_acquire);
  if (lease == nullptr) {
    auto made = std::make_unique<std::shared_ptr<StreamLease>>(
        std::make_shared<StreamLease>());
    // Of threads that get here at once, the first one's stays.
    if (lease_.compare_exchange_strong(lease, made.get(),
                                       std::memory_order_acq_rel)) {
      lease = made.release();
    }
  }
  return *lease;
}

// Like CallHip, but only where the stream takes part in no capture: `call`
// would invalidate it.
template <typename Call>
absl::Status RocmStream::CallHipOutsideCapture(Call call) const {
  return CallHip([&](HipScope& hip) {
    HipResult result = CheckNotCapturing(hip, handle_).result();
    return result.ok() ? call(hip) : result;
  });
}

absl::StatusOr<bool> RocmStream::IsIdle() const {
  bool idle = false;
  absl::Status status = CallHipOutsideCapture([&](HipScope& hip) {
    StreamFinding finding = CheckIdle(hip, handle_);
    idle = finding.verdict == StreamFinding::kFine;
    return finding.verdict == StreamFinding::kBusy ? HipResult{}
                                                   : finding.result();
  });
  if (!status.ok()) return status;
  return idle;
}

absl::Status RocmStream::BlockHostUntilDone() const {
  return CallHipOutsideCapture([&](HipScope& hip) {
    return hip.Call("hipStreamSynchronize", hipStreamSynchronize(handle_));
  });
}

absl::Status RocmStream::RecordEvent(hipEvent_t event) const {
  return CallHip([&](HipScope& hip) {
    return hip.Call("hipEventRecord", hipEventRecord(event, handle_));
  });
}

absl::Status RocmStream::WaitFor(hipEvent_t event) const {
  return CallHip([&](HipScope& hip) {
    return hip.Call("hipStreamWaitEvent",
                    hipStreamWaitEvent(handle_, event, /*flags=*/0));
  });
}

absl::Status RocmStream::WaitFor(const RocmStream& other) const {
  if (id_ == 0 || other.id_ == 0) return OwnsNothing();
  if (id_ == other.id_) return absl::OkStatus();
  // The event is of the device that it is recorded on.
  PooledEvent event;
  absl::Status recorded = other.CallHip(
      [&](HipScope& hip) { return event.RecordOnAny(hip, other.handle_); });
  if (!recorded.ok()) return recorded;
  return CallHip([&](HipScope& hip) { return event.LetWait(hip, handle_); });
}

absl::Status RocmStream::DoHostCallback(HostCallback callback) const {
  if (!callback) return absl::InvalidArgumentError("an empty callback");
  auto owned = std::make_unique<HostCallback>(std::move(callback));
  // In a capture, the graph would run it each time that it is launched.
  return CallHipOutsideCapture([&](HipScope& hip) {
    HipResult result = EnqueueHostCallback(hip, handle_, owned.get());
    if (result.ok()) (void)owned.release();
    return result;
  });
}

void RocmStream::OnRelease(absl::AnyInvocable<void(hipStream_t) &&> hook) {
  if (id_ != 0 && hook) hooks_.push_back(std::move(hook));
}

absl::Status RocmStream::Release() {
  if (id_ == 0) return OwnsNothing();
  // If a hook throws, or the thread is cancelled while it waits, the destructor
  // of `released` does the rest.
  RocmStream released(std::move(*this));
  absl::Status status;
  const bool has_lease = released.lease_ != nullptr;
  const bool has_hooks = !released.hooks_.empty();
  if ((has_lease || has_hooks) && MayCallHip()) {
    const bool exists = !released.IsInvalidated();
    if (!released.is_borrowed() && exists) {
      // Events of the stream can be asked about as long as this lasts. Waiting
      // on a capturing stream fails. Report that only if hooks will run.
      const absl::Status waited = released.BlockHostUntilDone();
      if (has_hooks || !absl::IsFailedPrecondition(waited)) status = waited;
    }
    while (!released.hooks_.empty()) {
      auto hook = std::move(released.hooks_.back());
      released.hooks_.pop_back();
      // After a reset, HIP may have given the handle to another user.
      std::move(hook)(exists ? released.handle_ : nullptr);
    }
  }
  const std::unique_ptr<std::shared_ptr<StreamLease>> lease(
      released.lease_.exchange(nullptr));
  if (released.is_borrowed()) {
    released.id_ = 0;
    return status;
  }
  const bool lease_ends = lease != nullptr && MayCallHip();
  if (lease_ends) (*lease)->BeginToEnd();
  status.Update(ReturnStream(released.device_ordinal_, released.handle_,
                             released.lease_id_));
  released.id_ = 0;
  // If exit has begun meanwhile, the work was not waited for.
  if (lease_ends && MayCallHip()) (*lease)->End(status);
  return status;
}

}  // namespace hip_stream_pool
