// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/stream_context.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hip_scope.h"
#include "pooled_event.h"
#include "process_lifetime.h"
#include "stream_calls.h"

namespace hip_stream_pool {
namespace {

// Makes the device current for the caller's code: work, and libraries' calls.
// Unlike a HipScope it leaves the capture mode alone, and does not hold up exit
// for as long as that takes.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device_ordinal) : device_ordinal_(device_ordinal) {
    HipCallGuard guard;
    if (!guard.may_call()) {
      entered_ = NoHipAnyMore();
      return;
    }
    HipResult result = Note("hipGetDevice", hipGetDevice(&callers_device_));
    if (result.ok() && callers_device_ != device_ordinal_) {
      result = Note("hipSetDevice", hipSetDevice(device_ordinal_));
      changed_ = result.ok();
    }
    entered_ = ToStatus(result, device_ordinal_);
  }
  ~CurrentDevice() { GiveBack().IgnoreError(); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

  const absl::Status& entered() const { return entered_; }

  absl::Status GiveBack() {
    if (!std::exchange(changed_, false)) return absl::OkStatus();
    HipCallGuard guard;
    if (!guard.may_call()) return NoHipAnyMore();
    return ToStatus(Note("hipSetDevice", hipSetDevice(callers_device_)),
                    callers_device_);
  }

 private:
  const int device_ordinal_;
  int callers_device_ = 0;
  bool changed_ = false;
  absl::Status entered_;
};

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
  CurrentDevice device(context_->internal_.device_ordinal());
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
  CurrentDevice device(internal_.device_ordinal());
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
    return absl::InvalidArgumentError(
        absl::StrCat(name, " comes without a function to set its stream"));
  }
  if (internal_.IsInvalidated()) return ToStatus(kNoSuchStream);
  CurrentDevice device(internal_.device_ordinal());
  if (!device.entered().ok()) return device.entered();
  Library library{std::move(name), std::move(set_stream), std::nullopt};
  absl::Status set = library.Set(stream());
  if (set.ok()) libraries_.push_back(std::move(library));
  set.Update(device.GiveBack());
  return set;
}

absl::StatusOr<ExternalStreamScope> StreamContext::UseExternalStream(
    hipStream_t external) {
  CurrentDevice device(internal_.device_ordinal());
  if (!device.entered().ok()) return device.entered();
  absl::Status valid = CheckCallersStream(internal_.device_ordinal(), external);
  if (!valid.ok()) return valid;
  absl::StatusOr<ExternalStreamScope> scope = Bind(external);
  if (!scope.ok()) return scope;
  absl::Status given_back = device.GiveBack();
  if (!given_back.ok()) return given_back;
  return scope;
}

absl::Status StreamContext::WaitFor(hipStream_t queue) const {
  return Order(queue, queue, internal_.handle());
}

absl::Status StreamContext::FinishOn(hipStream_t queue) const {
  return Order(queue, internal_.handle(), queue);
}

absl::Status StreamContext::Run(
    absl::FunctionRef<absl::Status(hipStream_t)> work) {
  CurrentDevice device(internal_.device_ordinal());
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
  CurrentDevice device(internal_.device_ordinal());
  if (!device.entered().ok()) return device.entered();
  absl::Status valid = CheckCallersStream(internal_.device_ordinal(), external);
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
  if (internal_.IsInvalidated()) return ToStatus(kNoSuchStream);
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

absl::Status StreamContext::Order(hipStream_t queue, hipStream_t first,
                                  hipStream_t then) const {
  if (internal_.IsInvalidated()) return ToStatus(kNoSuchStream);
  if (first == then) return absl::OkStatus();
  const int device_ordinal = internal_.device_ordinal();
  HipScope hip(device_ordinal);
  HipResult result = hip.entered();
  absl::Status valid;
  if (result.ok()) {
    valid = CheckCallersStream(device_ordinal, queue);
    PooledEvent event;
    if (valid.ok()) result = event.RecordOnAny(hip, first);
    if (valid.ok() && result.ok()) result = event.LetWait(hip, then);
  }
  result = hip.Close(result);
  valid.Update(ToStatus(result, device_ordinal));
  return valid;
}

}  // namespace hip_stream_pool
