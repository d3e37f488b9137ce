// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/rocm_stream.h"

#include <atomic>
#include <memory>
#include <utility>

#include "hip/hip_scope.h"
#include "hip/stream_checks.h"
#include "pool/pooled_event.h"
#include "process_pool.h"
#include "status.h"
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

Result EnqueueHostCallback(HipScope& hip, hipStream_t stream,
                           HostCallback* callback) {
  if (const auto& launch = hip.functions().hipLaunchHostFunc) {
    return hip.Call(launch, stream, RunHostCallback, callback);
  }
  return hip.Call(
      hip.functions().hipStreamAddCallback, stream,
      [](hipStream_t, hipError_t, void* argument) {
        RunHostCallback(argument);
      },
      callback, /*flags=*/0u);
}

}  // namespace

// Runs call(HipScope&) with the stream's device current, if the stream exists.
template <typename Call>
absl::Status RocmStream::CallHip(const char* function, Call call) const {
  if (id_ == 0) return ToStatus(Mistake::kOwnsNothing, function);
  const Called called(function, device_ordinal_);
  if (IsInvalidated()) return Failure(Refused(Refusal::kInvalidated), called);
  HipScope hip(device_ordinal_);
  Result result = hip.entered();
  if (result.ok()) result = CheckStillExists(hip, handle_, device_ordinal_);
  if (result.ok()) result = call(hip);
  return ToStatus(hip.Close(result), called);
}

// Whether Invalidate has ended this lease; of an external stream nobody knows.
bool RocmStream::IsInvalidated() const {
  return lease_id_ != 0 &&
         !ProcessPool().device(device_ordinal_).IsLeased(handle_, lease_id_);
}

absl::StatusOr<RocmStream> RocmStream::Create(const StreamKey& key) {
  hip_stream_pool::Lease lease;
  const Result result = ProcessPool().Acquire(key, &lease);
  if (!result.ok()) return Failure(result, {"RocmStream::Create", key});
  return RocmStream(key.device_ordinal, lease.stream, lease.id);
}

absl::StatusOr<RocmStream> RocmStream::Borrow(int device_ordinal,
                                              hipStream_t external) {
  const Called called("RocmStream::Borrow", device_ordinal);
  if (external == hipStreamPerThread) {
    return Failure(Refused(Refusal::kPerThreadStream), called);
  }
  DevicePool* device = nullptr;
  Result result = ProcessPool().FindDevice(device_ordinal, &device);
  if (result.ok()) {
    HipScope hip;
    result = hip.may_call() ? CheckExternal(hip, external, device_ordinal)
                            : Refused(Refusal::kNoHip);
    result = hip.Close(result);
  }
  if (!result.ok()) return Failure(result, called);
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
absl::Status RocmStream::CallHipOutsideCapture(const char* function,
                                               Call call) const {
  return CallHip(function, [&](HipScope& hip) {
    const Result result = CheckNotCapturing(hip, handle_);
    return result.ok() ? call(hip) : result;
  });
}

absl::StatusOr<bool> RocmStream::IsIdle() const {
  bool idle = false;
  absl::Status status =
      CallHipOutsideCapture("RocmStream::IsIdle", [&](HipScope& hip) {
        const Result result = CheckIdle(hip, handle_);
        idle = result.ok();
        return StateOf(result) == StreamState::kBusy ? Result() : result;
      });
  if (!status.ok()) return status;
  return idle;
}

absl::Status RocmStream::BlockHostUntilDone() const {
  return CallHipOutsideCapture(
      "RocmStream::BlockHostUntilDone", [&](HipScope& hip) {
        return hip.Call(hip.functions().hipStreamSynchronize, handle_);
      });
}

absl::Status RocmStream::RecordEvent(hipEvent_t event) const {
  return CallHip("RocmStream::RecordEvent", [&](HipScope& hip) {
    return hip.Call(hip.functions().hipEventRecord, event, handle_);
  });
}

absl::Status RocmStream::WaitFor(hipEvent_t event) const {
  return CallHip("RocmStream::WaitFor", [&](HipScope& hip) {
    return hip.Call(hip.functions().hipStreamWaitEvent, handle_, event,
                    /*flags=*/0u);
  });
}

absl::Status RocmStream::WaitFor(const RocmStream& other) const {
  constexpr char kName[] = "RocmStream::WaitFor";
  if (id_ == 0 || other.id_ == 0) return ToStatus(Mistake::kOwnsNothing, kName);
  if (id_ == other.id_) return absl::OkStatus();
  EventPool& events = ProcessPool().device(other.device_ordinal_).events();
  PooledEvent event;
  absl::Status recorded = other.CallHip(kName, [&](HipScope& hip) {
    return event.RecordOnAny(events, hip, other.handle_);
  });
  if (!recorded.ok()) return recorded;
  return CallHip(kName,
                 [&](HipScope& hip) { return event.LetWait(hip, handle_); });
}

absl::Status RocmStream::DoHostCallback(HostCallback callback) const {
  constexpr char kName[] = "RocmStream::DoHostCallback";
  if (!callback) return ToStatus(Mistake::kNoCallback, kName);
  auto owned = std::make_unique<HostCallback>(std::move(callback));
  // In a capture, the graph would run it each time that it is launched.
  return CallHipOutsideCapture(kName, [&](HipScope& hip) {
    const Result result = EnqueueHostCallback(hip, handle_, owned.get());
    if (result.ok()) (void)owned.release();
    return result;
  });
}

void RocmStream::OnRelease(absl::AnyInvocable<void(hipStream_t) &&> hook) {
  if (id_ != 0 && hook) hooks_.push_back(std::move(hook));
}

absl::Status RocmStream::Release() {
  if (id_ == 0) return ToStatus(Mistake::kOwnsNothing, "RocmStream::Release");
  // If a hook throws, or the thread is cancelled while it waits, the destructor
  // of `released` does the rest.
  RocmStream released(std::move(*this));
  absl::Status status;
  if (MayCallHip()) status = released.WaitAndRunHooks();
  const std::unique_ptr<std::shared_ptr<StreamLease>> lease(
      released.lease_.exchange(nullptr));
  if (!released.is_borrowed()) {
    status = released.GiveBack(lease == nullptr ? nullptr : lease->get(),
                               std::move(status));
  }
  released.id_ = 0;
  return status;
}

absl::Status RocmStream::WaitAndRunHooks() {
  absl::Status status;
  const bool has_hooks = !hooks_.empty();
  if (lease_ == nullptr && !has_hooks) return status;
  const bool exists = !IsInvalidated();
  if (!is_borrowed() && exists) {
    // Events of the stream can be asked about as long as this lasts. Waiting
    // on a capturing stream fails. Report that only if hooks will run.
    absl::Status waited = BlockHostUntilDone();
    if (has_hooks || !absl::IsFailedPrecondition(waited)) {
      status = std::move(waited);
    }
  }
  while (!hooks_.empty()) {
    auto hook = std::move(hooks_.back());
    hooks_.pop_back();
    // After a reset, HIP may have given the handle to another user.
    std::move(hook)(exists ? handle_ : nullptr);
  }
  return status;
}

absl::Status RocmStream::GiveBack(StreamLease* lease, absl::Status status) {
  const bool lease_ends = lease != nullptr && MayCallHip();
  if (lease_ends) lease->BeginToEnd();
  status.Update(
      ToStatus(ProcessPool().Return(device_ordinal_, handle_, lease_id_),
               {"RocmStream::Release", device_ordinal_}));
  // If exit has begun meanwhile, the work was not waited for.
  if (lease_ends && MayCallHip()) lease->End(status);
  return status;
}

}  // namespace hip_stream_pool
