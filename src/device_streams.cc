// SPDX-License-Identifier: Apache-2.0
#include "device_streams.h"

#include "absl/strings/str_cat.h"

namespace hip_stream_pool {
namespace {

hipStream_t StreamOf(const HandleStore::Ticket& ticket) {
  return static_cast<hipStream_t>(ticket.handle());
}

}  // namespace

absl::Status AnotherDevicesStream(int device_ordinal, const char* call) {
  return absl::InvalidArgumentError(
      absl::StrCat("DestroyStream(device ", device_ordinal,
                   "): the stream is another device's; nothing was done",
                   *call == '\0' ? "" : " after ", call));
}

absl::StatusOr<hipStream_t> DeviceStreams::Create(const StreamKey& key,
                                                  uint64_t* lease,
                                                  bool* was_reused) {
  HipScope hip(ordinal_);
  PriorityRange range;
  HipResult result =
      hip.entered().ok() ? GetPriorityRange(hip, &range) : hip.entered();
  hipStream_t stream = nullptr;
  if (result.ok()) {
    const HandleStore::Kind kind{key.flags, range.Clamp(key.priority)};
    stream = Reuse(hip, kind, lease);
    if (was_reused != nullptr) *was_reused = stream != nullptr;
    while (stream == nullptr && result.ok()) {
      HandleStore::Ticket made;
      result = CreateNew(hip, kind, /*may_free=*/true, &made);
      if (!result.ok()) break;
      *lease = store_.Lease(made, /*is_reuse=*/false);
      if (*lease == 0) continue;  // invalidated meanwhile
      ++misses_;
      stream = StreamOf(made);
    }
  }
  result = hip.Close(result);
  if (result.ok()) return stream;
  // The stream is idle, and nobody has seen it; but the caller's device could
  // not be given back, and that is an error.
  if (stream != nullptr) {
    const HandleStore::ClaimResult claim = store_.Claim(stream, *lease);
    if (claim.ticket) store_.Park(claim.ticket, INT_MAX);
  }
  return ToStatus(result, key);
}

std::optional<absl::Status> DeviceStreams::Destroy(hipStream_t stream,
                                                   int max_parked_per_key,
                                                   uint64_t lease) {
  HandleStore::ClaimResult claim = store_.Claim(stream, lease);
  switch (claim.state) {
    case HandleStore::ClaimState::kUnknown:
      return std::nullopt;
    case HandleStore::ClaimState::kInvalidated:
      return absl::OkStatus();
    case HandleStore::ClaimState::kParked:
      return absl::FailedPreconditionError(absl::StrCat(
          "DestroyStream(device ", ordinal_,
          "): the stream was destroyed before; it belongs to the pool now"));
    case HandleStore::ClaimState::kClaimed:
      break;
  }
  HipScope hip(ordinal_);
  if (!hip.entered().ok()) {
    // The stream can't be parked. HIP destroys one of any device.
    if (store_.Remove(claim.ticket) && MayCallHip()) {
      ++refused_error_;
      const StreamFinding finding =
          CheckMayBeAsked(hip, stream, ordinal_, claim.ticket.identity());
      if (finding.verdict == StreamFinding::kFine) DestroyNow(hip, stream);
    }
    return ToStatus(hip.Close(hip.entered()), ordinal_);
  }
  absl::Status status = ParkOrDestroy(hip, claim.ticket, max_parked_per_key);
  status.Update(ToStatus(hip.Close(), ordinal_));
  return status;
}

DeviceStreams::TakenBack DeviceStreams::TakeBack(hipStream_t stream,
                                                 int max_parked_per_key) {
  HandleStore::ClaimResult claim = store_.Claim(stream);
  switch (claim.state) {
    case HandleStore::ClaimState::kUnknown:
      return TakenBack::kUnknown;
    case HandleStore::ClaimState::kInvalidated:
      // Its value may be that of a new stream, held back until now.
      return store_.Has(stream) ? TakenBack::kParkedBefore
                                : TakenBack::kLeftToCaller;
    case HandleStore::ClaimState::kParked:
      return TakenBack::kParkedBefore;
    case HandleStore::ClaimState::kClaimed:
      break;
  }
  HipScope hip(ordinal_);
  StreamFinding finding;
  bool waited = false;
  if (hip.entered().ok() &&
      Park(hip, claim.ticket, max_parked_per_key, finding, waited)) {
    return waited ? TakenBack::kParkedAfterWait : TakenBack::kParked;
  }
  // Else it was invalidated, and its value may be another stream's by now.
  return store_.Remove(claim.ticket) ? TakenBack::kLeftToCaller
                                     : TakenBack::kParkedBefore;
}

absl::Status DeviceStreams::DestroyForeign(hipStream_t stream) {
  HipScope hip(ordinal_);
  if (!hip.entered().ok()) return ToStatus(hip.entered(), ordinal_);
  StreamFinding finding = CheckDevice(hip, stream, ordinal_);
  HipResult result = finding.result();
  if (finding.verdict == StreamFinding::kFine) {
    ++refused_foreign_;
    result = DestroyNow(hip, stream);
  }
  const bool is_another_devices =
      finding.verdict == StreamFinding::kGone && finding.error == hipSuccess;
  absl::Status status = ToStatus(hip.Close(result), ordinal_);
  if (is_another_devices) {
    return AnotherDevicesStream(ordinal_);
  }
  return status;
}

absl::Status DeviceStreams::Prewarm(const StreamKey& key, int wanted) {
  HandleStore::Kind kind{key.flags, key.priority};
  if (store_.ParkedOf(kind) >= wanted) return absl::OkStatus();
  HipScope hip(ordinal_);
  HipResult result = hip.entered();
  HandleStore::Ticket made;
  if (result.ok()) result = CreateNew(hip, kind, /*may_free=*/false, &made);
  // Another thread may have prewarmed the same key meanwhile.
  if (result.ok() &&
      store_.Park(made, wanted) == HandleStore::ParkResult::kOverLimit &&
      store_.Remove(made)) {
    result = DestroyNow(hip, StreamOf(made));
  }
  return ToStatus(hip.Close(result), key);
}

absl::StatusOr<StreamKey> DeviceStreams::Normalize(const StreamKey& key) {
  HipScope hip(ordinal_);
  HipResult result = hip.entered();
  PriorityRange range;
  if (result.ok()) result = GetPriorityRange(hip, &range);
  result = hip.Close(result);
  if (!result.ok()) return ToStatus(result, key);
  return StreamKey{key.device_ordinal, key.flags, range.Clamp(key.priority)};
}

HipResult DeviceStreams::Trim(HipScope& hip) {
  HipResult first = {};
  // What others create and park meanwhile stays.
  const uint64_t before = store_.next_created();
  uint64_t after = 0;
  while (const auto ticket = store_.TakeAny(after, before)) {
    after = ticket.created();
    HipResult result = DestroyParked(hip, ticket);
    if (first.ok()) first = result;
  }
  return first;
}

void DeviceStreams::Invalidate() { dropped_stale_ += store_.Invalidate(); }

void DeviceStreams::AddStatsTo(StreamCacheStats& stats) const {
  const HandleStore::Counts counts = store_.GetCounts();
  stats.hits += counts.reused;
  stats.misses += misses_;
  stats.parked_total += counts.parked_total;
  stats.destroyed_total += destroyed_;
  stats.refused_error += refused_error_;
  stats.refused_capturing += refused_capturing_;
  stats.refused_foreign += refused_foreign_;
  stats.refused_over_limit += refused_over_limit_;
  stats.refused_key_mismatch += refused_key_mismatch_;
  stats.dropped_stale += dropped_stale_;
  stats.abandoned += abandoned_;
  stats.parked_now += counts.parked_now;
  stats.leased_now += counts.leased_now;
}

// HIP creates a stream of the nearest priority that the device has, and that is
// what it reads back: the look-up has to use it too.
HipResult DeviceStreams::GetPriorityRange(HipScope& hip, PriorityRange* range) {
  *range = priority_range_.load(std::memory_order_relaxed);
  if (range->greatest <= range->least) return {};
  PriorityRange asked;  // not known yet
  HipResult result =
      hip.Call("hipDeviceGetStreamPriorityRange",
               hipDeviceGetStreamPriorityRange(&asked.least, &asked.greatest));
  if (!result.ok()) return result;
  priority_range_.store(asked, std::memory_order_relaxed);
  *range = asked;
  return result;
}

hipStream_t DeviceStreams::Reuse(HipScope& hip, HandleStore::Kind kind,
                                 uint64_t* lease) {
  uint64_t after = 0;
  while (const auto ticket = store_.Take(kind, after)) {
    after = ticket.created();
    const auto stream = StreamOf(ticket);
    const StreamFinding finding = CheckParked(hip, ticket);
    switch (finding.verdict) {
      case StreamFinding::kFine:
        *lease = store_.Lease(ticket, /*is_reuse=*/true);
        if (*lease != 0) return stream;
        break;
      case StreamFinding::kBusy:
        // A hipDeviceSynchronize elsewhere, or a user who should not use it.
      case StreamFinding::kCapturing:
        // Likewise. Destroying it would end a capture that is not ours to end.
        store_.PutBack(ticket);
        break;
      case StreamFinding::kUnclear:
        // HIP gives no answer for any stream while a capture is active
        // elsewhere. Do not ask the others.
        store_.PutBack(ticket);
        return nullptr;
      case StreamFinding::kGone:
        if (store_.Remove(ticket)) ++dropped_stale_;
        break;
      case StreamFinding::kFailed:
        if (store_.Remove(ticket)) {
          ++dropped_stale_;
          DestroyNow(hip, stream);
        }
        break;
    }
  }
  return nullptr;
}

StreamFinding DeviceStreams::CheckParked(HipScope& hip,
                                         const HandleStore::Ticket& ticket) {
  const auto stream = StreamOf(ticket);
  StreamFinding finding =
      CheckIdentity(hip, stream, ordinal_, ticket.identity());
  if (finding.verdict != StreamFinding::kFine) return finding;
  if (queries_wait_for_null_stream_ &&
      ticket.kind().flags == hipStreamDefault) {
    return CheckNotCapturing(hip, stream);
  }
  finding = CheckIdleSoon(hip, stream);
  if (finding.verdict == StreamFinding::kUnclear) {
    const StreamFinding own = CheckNotCapturing(hip, stream);
    if (own.verdict == StreamFinding::kCapturing) return own;
  }
  return finding;
}

HipResult DeviceStreams::CreateNew(HipScope& hip, HandleStore::Kind kind,
                                   bool may_free, HandleStore::Ticket* made) {
  hipStream_t stream = nullptr;
  const auto create = [&] {
    return hip.Call(
        "hipStreamCreateWithPriority",
        hipStreamCreateWithPriority(&stream, kind.flags, kind.priority));
  };
  for (;;) {
    HipResult result = create();
    if (result.error == hipErrorOutOfMemory && may_free) {
      may_free = false;
      Trim(hip);
      result = create();
    }
    if (!result.ok()) return result;
    WatchProcessBehindFirstStream();
    uint64_t identity = 0;
    result = ReadIdentity(hip, stream, &identity);
    if (!result.ok()) {
      DestroyNow(hip, stream);
      return result;
    }
    // What had this value on another device has died without the pool being
    // told.
    for (const auto& device : all_) {
      if (device.get() != this && device->store_.DropStale(stream)) {
        ++dropped_stale_;
      }
    }
    switch (store_.Add(stream, kind, identity, made)) {
      case HandleStore::AddResult::kAddedForStale:
        ++dropped_stale_;
        return result;
      case HandleStore::AddResult::kAdded:
        return result;
      case HandleStore::AddResult::kHeldBack:
        break;  // HIP has other values
    }
  }
}

absl::Status DeviceStreams::ParkOrDestroy(HipScope& hip,
                                          const HandleStore::Ticket& ticket,
                                          int max_parked_per_key) {
  StreamFinding finding;
  bool waited = false;
  if (Park(hip, ticket, max_parked_per_key, finding, waited)) {
    return absl::OkStatus();
  }
  // From here on, HIP may give the handle's value to a new stream.
  if (!store_.Remove(ticket)) return absl::OkStatus();  // by Invalidate
  const StreamKey key{ordinal_, ticket.kind().flags, ticket.kind().priority};
  if (finding.verdict == StreamFinding::kGone) {
    return absl::FailedPreconditionError(
        absl::StrCat("DestroyStream(", ToString(key),
                     "): the stream was destroyed behind the pool's back (",
                     finding.call, " says so)"));
  }
  // What failed may be the stream's work, which its user wants to know.
  absl::Status status;
  if (finding.verdict == StreamFinding::kFailed) {
    status = ToStatus(finding.result(), key);
  }
  const auto stream = StreamOf(ticket);
  status.Update(ToStatus(DestroyNow(hip, stream), key));
  return status;
}

bool DeviceStreams::Park(HipScope& hip, const HandleStore::Ticket& ticket,
                         int max_parked_per_key, StreamFinding& finding,
                         bool& waited) {
  const auto stream = StreamOf(ticket);
  HandleStore::Kind read = {};
  finding = CheckMayBeAsked(hip, stream, ordinal_, ticket.identity());
  if (finding.verdict == StreamFinding::kFine) {
    finding = CheckNotCapturing(hip, stream);
  }
  if (finding.verdict == StreamFinding::kFine) {
    finding = CheckIdle(hip, stream);
    waited = finding.verdict == StreamFinding::kBusy;
    if (waited) finding = WaitUntilIdle(hip, stream);
  }
  if (finding.verdict == StreamFinding::kFine) {
    finding = ReadFlagsAndPriority(hip, stream, &read.flags, &read.priority);
  }
  if (finding.verdict == StreamFinding::kFine) {
    finding = ResetAttributes(hip, stream);
  }

  switch (finding.verdict) {
    case StreamFinding::kFine:
      if (!(read == ticket.kind())) {
        ++refused_key_mismatch_;
        break;
      }
      if (store_.Park(ticket, max_parked_per_key) !=
          HandleStore::ParkResult::kOverLimit) {
        return true;
      }
      ++refused_over_limit_;
      break;
    case StreamFinding::kCapturing:
    case StreamFinding::kUnclear:
      ++refused_capturing_;
      break;
    case StreamFinding::kBusy:
    case StreamFinding::kFailed:
    case StreamFinding::kGone:
      ++refused_error_;
      break;
  }
  return false;
}

HipResult DeviceStreams::DestroyNow(HipScope& hip, hipStream_t stream) {
  HipResult result = hip.Call("hipStreamDestroy", hipStreamDestroy(stream));
  if (result.ok()) {
    ++destroyed_;
  } else if (!SaysNoSuchStream(result.error)) {
    ++abandoned_;
  }
  return result;
}

HipResult DeviceStreams::DestroyParked(HipScope& hip,
                                       const HandleStore::Ticket& ticket) {
  const auto stream = StreamOf(ticket);
  StreamFinding finding =
      CheckIdentity(hip, stream, ordinal_, ticket.identity());
  if (finding.verdict == StreamFinding::kFine) {
    finding = CheckNotCapturing(hip, stream);
  }
  if (finding.verdict == StreamFinding::kCapturing) {
    store_.PutBack(ticket);
    return finding.result();
  }
  if (!store_.Remove(ticket)) return {};
  if (finding.verdict == StreamFinding::kGone) {
    ++dropped_stale_;
    return {};
  }
  HipResult result = DestroyNow(hip, stream);
  if (SaysNoSuchStream(result.error)) {
    ++dropped_stale_;
    return {};
  }
  return finding.result().ok() ? result : finding.result();
}

}  // namespace hip_stream_pool
