// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/stream_context.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hip/hip_scope.h"
#include "hip/stream_checks.h"
#include "pool/pooled_event.h"
#include "process_pool.h"
#include "status.h"

namespace hip_stream_pool {
namespace {

Result CallAlone(const HipFunctions& hip, Result result) {
  if (!result.ok()) (void)hip.hipGetLastError.call();
  return result;
}

// Makes the device current for the caller's code: work, and libraries' calls.
// Unlike a HipScope it leaves the capture mode alone, and does not hold up exit
// for as long as that takes.
class CurrentDevice {
 public:
  CurrentDevice(const char* function, int device_ordinal)
      : called_(function, device_ordinal),
        entered_(ToStatus(Enter(device_ordinal), called_)) {}
  ~CurrentDevice() { GiveBack().IgnoreError(); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

  const absl::Status& entered() const { return entered_; }

  absl::Status GiveBack() {
    if (!std::exchange(changed_, false)) return absl::OkStatus();
    HipCallGuard guard;
    return ToStatus(
        guard.may_call() ? Set(callers_device_) : Refused(Refusal::kNoHip),
        called_);
  }

 private:
  Result Enter(int device_ordinal) {
    HipCallGuard guard;
    if (!guard.may_call()) return Refused(Refusal::kNoHip);
    Result result =
        CallAlone(hip_, CallHip(hip_.hipGetDevice, &callers_device_));
    if (result.ok() && callers_device_ != device_ordinal) {
      result = Set(device_ordinal);
      changed_ = result.ok();
    }
    return result;
  }
  Result Set(int device_ordinal) {
    return CallAlone(hip_, CallHip(hip_.hipSetDevice, device_ordinal));
  }

  const Called called_;
  const HipFunctions& hip_ = KnownHip()->functions;
  int callers_device_ = 0;
  bool changed_ = false;
  absl::Status entered_;  // last: made by what is above
};

Result CheckExternalStream(hipStream_t external, int device_ordinal) {
  HipScope hip;
  if (!hip.may_call()) return Refused(Refusal::kNoHip);
  return hip.Close(CheckExternal(hip, external, device_ordinal));
}

}  // namespace

ExternalStreamScope::ExternalStreamScope(ExternalStreamScope&& other) noexcept
    : context_(std::exchange(other.context_, nullptr)),
      binding_(other.binding_) {}

ExternalStreamScope& ExternalStreamScope::operator=(
    ExternalStreamScope&& other) noexcept {
  ExternalStreamScope taken(std::move(other));
  std::swap(context_, taken.context_);
  std::swap(binding_, taken.binding_);
  return *this;
}

ExternalStreamScope::~ExternalStreamScope() { Restore().IgnoreError(); }

absl::Status ExternalStreamScope::Restore() {
  if (context_ == nullptr) return absl::OkStatus();
  CurrentDevice device("ExternalStreamScope::Restore",
                       context_->internal_.device_ordinal());
  absl::Status status = End();
  status.Update(device.entered());
  status.Update(device.GiveBack());
  return status;
}

absl::Status ExternalStreamScope::End() {
  return std::exchange(context_, nullptr)->Unbind(binding_);
}

absl::StatusOr<std::unique_ptr<StreamContext>> StreamContext::Create(
    const StreamKey& key) {
  absl::StatusOr<RocmStream> internal = RocmStream::Create(key);
  if (!internal.ok()) return internal.status();
  return std::unique_ptr<StreamContext>(
      new StreamContext(*std::move(internal)));
}

StreamContext::~StreamContext() {
  if (!MayCallHip()) return;
  CurrentDevice device("StreamContext::~StreamContext",
                       internal_.device_ordinal());
  for (Library& library : libraries_) library.Set(nullptr).IgnoreError();
}

hipStream_t StreamContext::stream() const {
  if (has_external_stream()) return *bindings_.back().external;
  return internal_.handle();
}

bool StreamContext::has_external_stream() const {
  return !bindings_.empty() && bindings_.back().external.has_value();
}

absl::Status StreamContext::AddLibrary(
    std::string name, std::function<absl::Status(hipStream_t)> set_stream) {
  if (!set_stream) {
    return ToStatus(Mistake::kNoSetStream, "StreamContext::AddLibrary");
  }
  if (internal_.IsInvalidated()) {
    return Failure(Refused(Refusal::kInvalidated),
                   {"StreamContext::AddLibrary", internal_.device_ordinal()});
  }
  CurrentDevice device("StreamContext::AddLibrary", internal_.device_ordinal());
  if (!device.entered().ok()) return device.entered();
  Library library{std::move(name), std::move(set_stream), std::nullopt};
  absl::Status set = library.Set(stream());
  if (set.ok()) libraries_.push_back(std::move(library));
  set.Update(device.GiveBack());
  return set;
}

absl::StatusOr<ExternalStreamScope> StreamContext::UseExternalStream(
    hipStream_t external) {
  CurrentDevice device("StreamContext::UseExternalStream",
                       internal_.device_ordinal());
  if (!device.entered().ok()) return device.entered();
  absl::Status valid = ToStatus(
      CheckExternalStream(external, internal_.device_ordinal()),
      {"StreamContext::UseExternalStream", internal_.device_ordinal()});
  if (!valid.ok()) return valid;
  absl::StatusOr<ExternalStreamScope> scope = Bind(external);
  if (!scope.ok()) return scope;
  absl::Status given_back = device.GiveBack();
  if (!given_back.ok()) return given_back;
  return scope;
}

absl::Status StreamContext::WaitFor(hipStream_t external) const {
  return Order("StreamContext::WaitFor", external, external,
               internal_.handle());
}

absl::Status StreamContext::FinishOn(hipStream_t external) const {
  return Order("StreamContext::FinishOn", external, internal_.handle(),
               external);
}

absl::Status StreamContext::Run(
    absl::FunctionRef<absl::Status(hipStream_t)> work) {
  CurrentDevice device("StreamContext::Run", internal_.device_ordinal());
  if (!device.entered().ok()) return device.entered();
  absl::StatusOr<ExternalStreamScope> scope = Bind(std::nullopt);
  if (!scope.ok()) return scope.status();
  absl::Status status = work(stream());
  status.Update(internal_.BlockHostUntilDone());
  status.Update(scope->End());
  status.Update(device.GiveBack());
  return status;
}

absl::Status StreamContext::RunAsync(
    hipStream_t external, absl::FunctionRef<absl::Status(hipStream_t)> work) {
  CurrentDevice device("StreamContext::RunAsync", internal_.device_ordinal());
  if (!device.entered().ok()) return device.entered();
  absl::Status valid =
      ToStatus(CheckExternalStream(external, internal_.device_ordinal()),
               {"StreamContext::RunAsync", internal_.device_ordinal()});
  if (!valid.ok()) return valid;
  absl::StatusOr<ExternalStreamScope> scope = Bind(external);
  if (!scope.ok()) return scope.status();
  absl::Status status = work(external);
  status.Update(scope->End());
  status.Update(device.GiveBack());
  return status;
}

// The scope exists before the libraries are set, so whatever stops that, their
// exceptions too, ends the binding again.
absl::StatusOr<ExternalStreamScope> StreamContext::Bind(
    std::optional<hipStream_t> external) {
  if (internal_.IsInvalidated()) {
    return Failure(Refused(Refusal::kInvalidated),
                   {"StreamContext", internal_.device_ordinal()});
  }
  bindings_.push_back({next_binding_, external});
  ExternalStreamScope scope(this, next_binding_++);
  for (Library& library : libraries_) {
    absl::Status set = library.Set(stream());
    if (!set.ok()) return set;
  }
  return scope;
}

absl::Status StreamContext::Unbind(uint64_t binding) {
  bindings_.erase(std::find_if(
      bindings_.begin(), bindings_.end(),
      [&](const Binding& entry) { return entry.number == binding; }));
  // Where HIP can't be called, neither can the libraries.
  if (!MayCallHip()) return absl::OkStatus();
  absl::Status restored;
  // After a reset, HIP may have given the internal handle to another user.
  const bool exists = has_external_stream() || !internal_.IsInvalidated();
  for (Library& library : libraries_) {
    restored.Update(library.Set(exists ? stream() : nullptr));
  }
  if (!restored.ok()) {
    for (Library& library : libraries_) library.set_to.reset();
  }
  return restored;
}

absl::Status StreamContext::Library::Set(hipStream_t stream) {
  if (set_to == stream) return absl::OkStatus();
  set_to.reset();  // not known until the library has said yes
  absl::Status set = set_stream(stream);
  if (!set.ok()) {
    return absl::Status(set.code(), absl::StrCat(name, ": ", set.message()));
  }
  set_to = stream;
  return absl::OkStatus();
}

absl::Status StreamContext::Order(const char* function, hipStream_t external,
                                  hipStream_t first, hipStream_t then) const {
  const int device_ordinal = internal_.device_ordinal();
  const Called called(function, device_ordinal);
  if (internal_.IsInvalidated()) {
    return Failure(Refused(Refusal::kInvalidated), called);
  }
  if (first == then) return absl::OkStatus();
  HipScope hip(device_ordinal);
  Result result = hip.entered();
  if (result.ok()) result = CheckExternal(hip, external, device_ordinal);
  PooledEvent event;
  if (result.ok()) {
    result = event.RecordOnAny(ProcessPool().device(device_ordinal).events(),
                               hip, first);
  }
  if (result.ok()) result = event.LetWait(hip, then);
  return ToStatus(hip.Close(result), called);
}

}  // namespace hip_stream_pool
