// SPDX-License-Identifier: Apache-2.0
#include "device_events.h"

#include <climits>

namespace hip_stream_pool {
namespace {

constexpr HandleStore::Kind kKind{};  // all events are of one

HipResult DestroyEvent(HipScope& hip, hipEvent_t event) {
  return hip.Call("hipEventDestroy", hipEventDestroy(event));
}

}  // namespace

HipResult DeviceEvents::Take(HipScope& hip, Ticket* event) {
  *event = store_.Take(kKind);
  if (*event && store_.Confirm(*event)) return {};
  for (;;) {
    hipEvent_t made = nullptr;
    HipResult created =
        hip.Call("hipEventCreateWithFlags",
                 hipEventCreateWithFlags(&made, hipEventDisableTiming));
    if (!created.ok()) return created;
    if (store_.Add(made, kKind, /*identity=*/0, event) !=
        HandleStore::AddResult::kHeldBack) {
      return created;
    }
  }
}

void DeviceEvents::GiveBack(const Ticket& event) {
  store_.Park(event, INT_MAX);
}

void DeviceEvents::Destroy(HipScope& hip, const Ticket& event) {
  if (store_.Remove(event)) DestroyEvent(hip, EventOf(event));
}

void DeviceEvents::Forget(const Ticket& event) { store_.Remove(event); }

HipResult DeviceEvents::Trim(HipScope& hip) {
  HipResult first = {};
  for (const Ticket& ticket : store_.TakeParked()) {
    if (!store_.Remove(ticket)) continue;
    HipResult result = DestroyEvent(hip, EventOf(ticket));
    if (first.ok()) first = result;
  }
  return first;
}

}  // namespace hip_stream_pool
