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

HipResult DeviceEvents::Take(HipScope& hip, hipEvent_t* event) {
  const HandleStore::Ticket parked = store_.Take(kKind);
  if (parked && store_.Confirm(parked)) {
    *event = static_cast<hipEvent_t>(parked.handle());
    return {};
  }
  for (;;) {
    HipResult created =
        hip.Call("hipEventCreateWithFlags",
                 hipEventCreateWithFlags(event, hipEventDisableTiming));
    if (!created.ok()) return created;
    if (store_.Add(*event, kKind, /*identity=*/0) !=
        HandleStore::AddResult::kHeldBack) {
      return created;
    }
  }
}

void DeviceEvents::GiveBack(hipEvent_t event) {
  HandleStore::ClaimResult claim = store_.Claim(event);
  if (claim.ticket) store_.Park(claim.ticket, INT_MAX);
}

void DeviceEvents::Destroy(HipScope& hip, hipEvent_t event) {
  HandleStore::ClaimResult claim = store_.Claim(event);
  if (claim.ticket && store_.Remove(claim.ticket)) DestroyEvent(hip, event);
}

void DeviceEvents::Forget(hipEvent_t event) {
  HandleStore::ClaimResult claim = store_.Claim(event);
  if (claim.ticket) store_.Remove(claim.ticket);
}

HipResult DeviceEvents::Trim(HipScope& hip) {
  HipResult first = {};
  for (const HandleStore::Ticket& ticket : store_.TakeParked()) {
    if (!store_.Remove(ticket)) continue;
    HipResult result =
        DestroyEvent(hip, static_cast<hipEvent_t>(ticket.handle()));
    if (first.ok()) first = result;
  }
  return first;
}

}  // namespace hip_stream_pool
