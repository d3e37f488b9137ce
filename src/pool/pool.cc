// SPDX-License-Identifier: Apache-2.0
#include "pool/pool.h"

#include <algorithm>

#include "hip/stream_checks.h"
#include "pool/pooled_event.h"

namespace hip_stream_pool {
namespace {

bool AreFlagsGood(const StreamKey& key) {
  return key.flags == hipStreamDefault || key.flags == hipStreamNonBlocking;
}

// HIP before 5.6 does not tell the device of a stream, but refuses to record an
// event on a stream of another device.
Result CheckDeviceByRecording(HipScope& hip, DevicePool& device,
                              hipStream_t stream) {
  if (hip.functions().hipStreamGetDevice) return {};
  Result result = hip.Enter(device.ordinal());
  PooledEvent event;
  if (result.ok()) result = event.RecordOnAny(device.events(), hip, stream);
  const bool is_another_devices =
      result.error == hipErrorInvalidHandle &&
      result.call == hip.functions().hipEventRecord.name;
  if (is_another_devices) {
    result.error = hipSuccess;
    result.refusal = Refusal::kAnotherDevices;
  }
  return result;
}

bool SaysNoMemoryForAStream(const HipScope& hip, const Result& result) {
  return result.error == hipErrorOutOfMemory &&
         result.call == hip.functions().hipStreamCreateWithPriority.name;
}

}  // namespace

Result Pool::Start() {
  Devices* known = devices_.load(std::memory_order_acquire);
  if (known != nullptr) return {};
  int count = 0;
  const Result started = StartHip(&count);
  if (!started.ok()) return started;
  auto devices = std::make_unique<Devices>();
  for (int i = 0; i < count; ++i) {
    devices->push_back(std::make_unique<DevicePool>(i));
  }
  WatchProcess();
  // Of threads that get here at once, the first one's devices stay.
  if (devices_.compare_exchange_strong(known, devices.get(),
                                       std::memory_order_acq_rel)) {
    (void)devices.release();
  }
  return {};
}

Result Pool::FindDevice(int ordinal, DevicePool** device) {
  const Result started = Start();
  if (!started.ok()) return started;
  if (ordinal < 0 || ordinal >= device_count()) {
    return Refused(Refusal::kNoSuchDevice);
  }
  *device = &this->device(ordinal);
  return {};
}

Result Pool::Acquire(StreamKey key, Lease* lease) {
  if (!AreFlagsGood(key)) return Refused(Refusal::kBadFlags);
  DevicePool* device = nullptr;
  Result result = FindDevice(key.device_ordinal, &device);
  if (!result.ok()) return result;
  HipScope hip;
  if (!hip.may_call()) return Refused(Refusal::kNoHip);
  result = device->Normalize(hip, &key);
  if (result.ok() && !device->AcquireParked(hip, key, lease)) {
    HandleStore::Ticket ticket;
    do {
      result = Create(hip, *device, key, /*may_free=*/true, &ticket);
      // Not leased if it was invalidated meanwhile.
    } while (result.ok() && !device->LeaseNew(ticket, lease));
  }
  const bool leased = result.ok();
  result = hip.Close(result);
  // The stream is idle, and nobody has seen it; but the caller's device or mode
  // could not be given back, and that is an error.
  if (leased && !result.ok()) device->Unlease(*lease);
  return result;
}

Result Pool::Create(HipScope& hip, DevicePool& device, const StreamKey& key,
                    bool may_free, HandleStore::Ticket* ticket) {
  for (;;) {
    DevicePool::Created created = {};
    Result result = device.CreateNew(hip, key, &created);
    if (may_free && SaysNoMemoryForAStream(hip, result)) {
      may_free = false;
      device.Trim(hip);
      result = device.CreateNew(hip, key, &created);
    }
    if (!result.ok()) return result;
    for (int i = 0; i < device_count(); ++i) {
      if (i != device.ordinal()) this->device(i).DropStale(created.stream);
    }
    // If it is held back, HIP has other values.
    if (device.Enter(created, key, ticket)) return result;
  }
}

Result Pool::Return(int device_ordinal, hipStream_t stream, uint64_t lease) {
  if (!MayCallHip()) return {};
  DevicePool* device = nullptr;
  Result result = FindDevice(device_ordinal, &device);
  if (!result.ok()) return result;
  const Returned returned = device->Return(stream, lease, max_parked_per_key(),
                                           Unfit::kIsDestroyed, &result);
  if (returned == Returned::kNotOurs) {
    result = AnotherDeviceHas(stream, device_ordinal)
                 ? Refused(Refusal::kAnotherDevices)
                 : ReturnForeign(*device, stream);
  }
  // If exit has begun meanwhile, the error says nothing.
  return MayCallHip() ? result : Result();
}

Result Pool::ReturnForeign(DevicePool& device, hipStream_t stream) {
  HipScope hip;
  if (!hip.may_call()) return Refused(Refusal::kNoHip);
  Result result = CheckExists(hip, stream, device.ordinal());
  if (result.ok()) result = CheckDeviceByRecording(hip, device, stream);
  if (result.ok()) result = device.DestroyForeign(hip, stream);
  return hip.Close(result);
}

bool Pool::AnotherDeviceHas(hipStream_t stream, int device_ordinal) {
  for (int i = 0; i < device_count(); ++i) {
    if (i != device_ordinal && device(i).Has(stream)) return true;
  }
  return false;
}

Returned Pool::TakeBack(hipStream_t stream, int limit) {
  // Mostly the same one as last time.
  thread_local int last = 0;
  const int count = device_count();
  for (int i = 0; i < count; ++i) {
    DevicePool& device = this->device((last + i) % count);
    Result result;
    const Returned returned = device.Return(stream, /*lease=*/0, limit,
                                            Unfit::kIsLeftToCaller, &result);
    if (returned == Returned::kNotOurs) continue;
    last = device.ordinal();
    // The handle may be that of a new stream, held back until now.
    return returned == Returned::kInvalidated && device.Has(stream)
               ? Returned::kAnothers
               : returned;
  }
  return Returned::kNotOurs;
}

Result Pool::Prewarm(const StreamKey* keys, size_t count, StreamKey* bad_key) {
  if (!MayCallHip()) return Refused(Refusal::kNoHip);
  std::vector<Order> orders;
  const Result checked = ReadOrders(keys, count, &orders, bad_key);
  if (!checked.ok()) return checked;
  for (const Order& order : orders) {
    DevicePool& device = this->device(order.key.device_ordinal);
    if (device.ParkedOf(order.key) >= order.wanted) continue;
    *bad_key = order.key;
    HipScope hip;
    if (!hip.may_call()) return Refused(Refusal::kNoHip);
    HandleStore::Ticket ticket;
    Result made = Create(hip, device, order.key, /*may_free=*/false, &ticket);
    if (made.ok()) made = device.ParkNew(hip, ticket, order.wanted);
    made = hip.Close(made);
    if (!made.ok()) return made;
  }
  return {};
}

Result Pool::ReadOrders(const StreamKey* keys, size_t count,
                        std::vector<Order>* orders, StreamKey* bad_key) {
  std::vector<Order> totals;  // of each key
  for (const StreamKey* key = keys; key != keys + count; ++key) {
    *bad_key = *key;
    if (!AreFlagsGood(*key)) return Refused(Refusal::kBadFlags);
    DevicePool* device = nullptr;
    Result result = FindDevice(key->device_ordinal, &device);
    if (!result.ok()) return result;
    HipScope hip;
    if (!hip.may_call()) return Refused(Refusal::kNoHip);
    result = hip.Close(device->Normalize(hip, bad_key));
    if (!result.ok()) return result;
    auto total =
        std::find_if(totals.begin(), totals.end(),
                     [&](const Order& order) { return order.key == *bad_key; });
    if (total == totals.end()) total = totals.insert(total, {*bad_key, 0});
    orders->push_back({*bad_key, ++total->wanted});
    if (total->wanted > max_parked_per_key()) {
      return Refused(Refusal::kTooManyToPrewarm);
    }
  }
  return {};
}

Result Pool::Trim(int device_ordinal) {
  if (!MayCallHip()) return {};
  DevicePool* device = nullptr;
  const Result result = FindDevice(device_ordinal, &device);
  if (!result.ok()) return result;
  HipScope hip;
  if (!hip.may_call()) return {};
  const Result streams = device->Trim(hip);
  return hip.Close(First(streams, device->events().Trim(hip)));
}

void Pool::Invalidate(int device_ordinal) {
  if (!MayCallHip() || device_ordinal < 0 || device_ordinal >= device_count()) {
    return;
  }
  device(device_ordinal).Invalidate();
}

StreamCacheStats Pool::GetStats() const {
  StreamCacheStats stats;
  if (const Devices* devices = devices_.load(std::memory_order_acquire)) {
    for (const auto& device : *devices) device->AddStatsTo(stats);
  }
  return stats;
}

}  // namespace hip_stream_pool
