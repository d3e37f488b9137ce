// SPDX-License-Identifier: Apache-2.0
#include "pool/device_pool.h"

#include <thread>
#include <vector>

#include "hip/stream_checks.h"

namespace hip_stream_pool {
namespace {

// How often busy streams are asked again before a new one is created, and how
// many of them: HIP puts a marker on each stream, used or not, when a thread
// synchronizes the device.
constexpr int kRounds = 10;
constexpr size_t kAskedAgain = 4;

hipStream_t StreamOf(const HandleStore::Ticket& ticket) {
  return static_cast<hipStream_t>(ticket.handle());
}

}  // namespace

// The streams that an AcquireParked found busy. They are parked again when it
// ends.
class DevicePool::BusyStreams {
 public:
  explicit BusyStreams(HandleStore& store) : store_(store) {}
  ~BusyStreams() {
    for (const HandleStore::Ticket& ticket : tickets_) store_.PutBack(ticket);
  }
  BusyStreams(const BusyStreams&) = delete;
  BusyStreams& operator=(const BusyStreams&) = delete;

  void Add(const HandleStore::Ticket& ticket) noexcept {
    tickets_.push_back(ticket);
  }

  // The earliest few, and without the one at `i`.
  size_t asked_again() const { return std::min(tickets_.size(), kAskedAgain); }
  const HandleStore::Ticket& ticket(size_t i) const { return tickets_[i]; }
  void Remove(size_t i) {
    tickets_.erase(tickets_.begin() + static_cast<ptrdiff_t>(i));
  }

 private:
  HandleStore& store_;
  std::vector<HandleStore::Ticket> tickets_;
};

// HIP creates a stream of the nearest priority that the device has, and that is
// what it reads back: the look-up has to use it too.
Result DevicePool::Normalize(HipScope& hip, StreamKey* key) {
  PriorityRange range = priority_range_.load(std::memory_order_relaxed);
  if (!range.is_known()) {
    Result result = hip.Enter(ordinal_);
    if (result.ok()) {
      result = hip.Call(hip.functions().hipDeviceGetStreamPriorityRange,
                        &range.least, &range.greatest);
    }
    if (!result.ok()) return result;
    priority_range_.store(range, std::memory_order_relaxed);
  }
  // A range that makes no sense clamps nothing.
  if (range.is_known()) {
    key->priority = std::clamp(key->priority, range.greatest, range.least);
  }
  return {};
}

bool DevicePool::AcquireParked(HipScope& hip, const StreamKey& key,
                               Lease* lease) {
  BusyStreams busy(store_);
  HandleStore::Acquired acquired;
  while (store_.Acquire(key, &acquired)) {
    const auto stream = static_cast<hipStream_t>(acquired.handle);
    const Result checked =
        CheckParked(hip, stream, key.flags, acquired.identity);
    if (checked.ok()) {
      *lease = {stream, acquired.lease, /*was_parked=*/true};
      return true;
    }
    const auto ticket = store_.Undo(acquired);
    if (!ticket) continue;  // invalidated
    switch (StateOf(checked)) {
      case StreamState::kBusy:
      case StreamState::kCapturing:
        // A hipDeviceSynchronize elsewhere, or a user who should not use it.
        // Destroying it would end a capture that is not ours to end.
        busy.Add(ticket);
        break;
      case StreamState::kUnclear:
        // HIP gives no answer for any stream while a capture is active
        // elsewhere. Do not ask the others.
        busy.Add(ticket);
        return false;
      default:
        Drop(hip, ticket, checked);
    }
  }
  return AcquireBusy(hip, busy, lease);
}

bool DevicePool::AcquireBusy(HipScope& hip, BusyStreams& busy, Lease* lease) {
  for (int round = 0; round < kRounds && busy.asked_again() != 0; ++round) {
    std::this_thread::yield();
    for (size_t i = 0; i < busy.asked_again(); ++i) {
      const HandleStore::Ticket ticket = busy.ticket(i);
      const Result checked = CheckParked(hip, StreamOf(ticket),
                                         ticket.key().flags, ticket.identity());
      if (!checked.ok()) continue;
      busy.Remove(i);
      *lease = {StreamOf(ticket), store_.Lease(ticket, /*is_hit=*/true),
                /*was_parked=*/true};
      return lease->id != 0;
    }
  }
  return false;
}

void DevicePool::Drop(HipScope& hip, const HandleStore::Ticket& ticket,
                      const Result& checked) {
  if (!store_.Remove(ticket)) return;
  Count(&StreamCacheStats::dropped_stale);
  if (StateOf(checked) == StreamState::kFailed) {
    DestroyNow(hip, StreamOf(ticket));
  }
}

Result DevicePool::CheckParked(HipScope& hip, hipStream_t stream,
                               unsigned int flags, uint64_t identity) {
  Result result = CheckIdentity(hip, stream, ordinal_, identity);
  if (!result.ok()) return result;
  if (hip.behaviors().query_waits_for_null_stream &&
      flags == hipStreamDefault) {
    return CheckNotCapturing(hip, stream);
  }
  result = CheckIdle(hip, stream);
  if (StateOf(result) == StreamState::kUnclear) {
    const Result own = CheckNotCapturing(hip, stream);
    if (StateOf(own) == StreamState::kCapturing) return own;
  }
  return result;
}

Result DevicePool::CreateNew(HipScope& hip, const StreamKey& key,
                             Created* created) {
  Result result = hip.Enter(ordinal_);
  if (result.ok()) result = hip.Relax();
  if (result.ok()) {
    result = hip.Call(hip.functions().hipStreamCreateWithPriority,
                      &created->stream, key.flags, key.priority);
  }
  if (!result.ok()) return result;
  WatchProcessBehindFirstStream();
  result = ReadIdentity(hip, created->stream, &created->identity);
  if (!result.ok()) DestroyNow(hip, created->stream);
  return result;
}

bool DevicePool::Enter(const Created& created, const StreamKey& key,
                       HandleStore::Ticket* ticket) {
  switch (store_.Add(created.stream, key, created.identity, ticket)) {
    case HandleStore::AddResult::kHeldBack:
      return false;
    case HandleStore::AddResult::kAddedForStale:
      Count(&StreamCacheStats::dropped_stale);
      break;
    case HandleStore::AddResult::kAdded:
      break;
  }
  return true;
}

void DevicePool::DropStale(hipStream_t stream) {
  if (store_.DropStale(stream)) Count(&StreamCacheStats::dropped_stale);
}

bool DevicePool::LeaseNew(const HandleStore::Ticket& ticket, Lease* lease) {
  *lease = {StreamOf(ticket), store_.Lease(ticket, /*is_hit=*/false),
            /*was_parked=*/false};
  if (lease->id == 0) return false;
  Count(&StreamCacheStats::misses);
  return true;
}

Result DevicePool::ParkNew(HipScope& hip, const HandleStore::Ticket& ticket,
                           int wanted) {
  // Another thread may have prewarmed the same key meanwhile.
  const bool is_one_too_many =
      store_.Park(ticket, wanted) == HandleStore::ParkResult::kOverLimit &&
      store_.Remove(ticket);
  return is_one_too_many ? DestroyNow(hip, StreamOf(ticket)) : Result();
}

Returned DevicePool::Return(hipStream_t stream, uint64_t lease, int limit,
                            Unfit unfit, Result* result) {
  const HandleStore::ClaimResult claim = store_.Claim(stream, lease);
  switch (claim.state) {
    case HandleStore::ClaimState::kUnknown:
      return Returned::kNotOurs;
    case HandleStore::ClaimState::kInvalidated:
      return Returned::kInvalidated;
    case HandleStore::ClaimState::kParked:
      *result = Refused(Refusal::kParked);
      return Returned::kParkedBefore;
    case HandleStore::ClaimState::kClaimed:
      break;
  }
  HipScope hip;
  bool waited = false;
  const Result checked = CheckFit(hip, claim.ticket, &waited);
  if (Park(claim.ticket, checked, limit)) {
    *result = hip.Close();
    return waited ? Returned::kParkedAfterWait : Returned::kParked;
  }
  // From here on, HIP may give the handle's value to a new stream.
  if (!store_.Remove(claim.ticket)) return Returned::kAnothers;
  // What failed may be the stream's work, which its user wants to know.
  const StreamState state = StateOf(checked);
  const bool is_gone = state == StreamState::kGone;
  if (is_gone || (state == StreamState::kFailed &&
                  checked.refusal != Refusal::kReadsAnotherKey)) {
    *result = checked;
  }
  if (unfit == Unfit::kIsDestroyed && !is_gone && hip.may_call()) {
    *result = First(*result, DestroyNow(hip, stream));
  }
  *result = hip.Close(*result);
  return is_gone ? Returned::kGone : Returned::kUnfit;
}

void DevicePool::Unlease(const Lease& lease) {
  const HandleStore::ClaimResult claim = store_.Claim(lease.stream, lease.id);
  if (claim.ticket) store_.Park(claim.ticket, INT_MAX);
}

Result DevicePool::CheckFit(HipScope& hip, const HandleStore::Ticket& ticket,
                            bool* waited) {
  if (!hip.may_call()) return Refused(Refusal::kNoHip);
  const auto stream = StreamOf(ticket);
  Result result = CheckMayBeAsked(hip, stream, ordinal_, ticket.identity());
  if (result.ok()) result = CheckNotCapturing(hip, stream);
  if (result.ok()) {
    result = CheckIdle(hip, stream);
    *waited = StateOf(result) == StreamState::kBusy;
    if (*waited) result = WaitUntilIdle(hip, stream);
  }
  StreamKey read = ticket.key();
  if (result.ok()) {
    result = ReadFlagsAndPriority(hip, stream, &read.flags, &read.priority);
  }
  if (result.ok()) result = ResetAttributes(hip, stream);
  if (result.ok() && read != ticket.key()) {
    return Refused(Refusal::kReadsAnotherKey);
  }
  return result;
}

bool DevicePool::Park(const HandleStore::Ticket& ticket, const Result& checked,
                      int limit) {
  if (checked.refusal == Refusal::kReadsAnotherKey) {
    Count(&StreamCacheStats::refused_key_mismatch);
    return false;
  }
  switch (StateOf(checked)) {
    case StreamState::kFine:
      if (store_.Park(ticket, limit) != HandleStore::ParkResult::kOverLimit) {
        return true;
      }
      Count(&StreamCacheStats::refused_over_limit);
      break;
    case StreamState::kCapturing:
    case StreamState::kUnclear:
      Count(&StreamCacheStats::refused_capturing);
      break;
    case StreamState::kBusy:
    case StreamState::kFailed:
    case StreamState::kGone:
      Count(&StreamCacheStats::refused_error);
      break;
  }
  return false;
}

Result DevicePool::DestroyForeign(HipScope& hip, hipStream_t stream) {
  Count(&StreamCacheStats::refused_foreign);
  return DestroyNow(hip, stream);
}

Result DevicePool::Trim(HipScope& hip) {
  Result first;
  BusyStreams capturing(store_);
  // What others create and park meanwhile stays.
  const uint64_t before = store_.next_created();
  while (const auto ticket = store_.TakeAny(before)) {
    Result result;
    if (!DestroyParked(hip, ticket, &result)) capturing.Add(ticket);
    first = First(first, result);
  }
  return first;
}

void DevicePool::Invalidate() {
  counters_.Add(&StreamCacheStats::dropped_stale, store_.Invalidate());
  events_.Invalidate();
}

Result DevicePool::DestroyNow(HipScope& hip, hipStream_t stream) {
  hip.Relax();
  const Result result = hip.Call(hip.functions().hipStreamDestroy, stream);
  if (result.ok()) {
    Count(&StreamCacheStats::destroyed_total);
  } else if (!SaysNoSuchStream(result.error)) {
    Count(&StreamCacheStats::abandoned);
  }
  return result;
}

bool DevicePool::DestroyParked(HipScope& hip, const HandleStore::Ticket& ticket,
                               Result* result) {
  const auto stream = StreamOf(ticket);
  Result checked = CheckIdentity(hip, stream, ordinal_, ticket.identity());
  if (checked.ok()) checked = CheckNotCapturing(hip, stream);
  if (StateOf(checked) == StreamState::kCapturing) {
    *result = checked;
    return false;
  }
  if (!store_.Remove(ticket)) return true;
  const bool is_gone = StateOf(checked) == StreamState::kGone;
  const Result destroyed = is_gone ? checked : DestroyNow(hip, stream);
  if (is_gone || SaysNoSuchStream(destroyed.error)) {
    Count(&StreamCacheStats::dropped_stale);
  } else {
    *result = First(checked, destroyed);
  }
  return true;
}

}  // namespace hip_stream_pool
