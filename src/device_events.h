// SPDX-License-Identifier: Apache-2.0
//
// DeviceEvents is the pool of one device's HIP events, without timing. An event
// needs no probe and no wait between two users: a record replaces what it stood
// for, and a wait that is enqueued already keeps to the record before. So its
// books are all there is to it, and a HandleStore keeps those. Thread-safe; no
// lock is held while HIP works.
#ifndef HIP_STREAM_POOL_SRC_DEVICE_EVENTS_H_
#define HIP_STREAM_POOL_SRC_DEVICE_EVENTS_H_

#include "handle_store.h"
#include "hip/hip_runtime_api.h"
#include "hip_scope.h"

namespace hip_stream_pool {

class DeviceEvents {
 public:
  using Ticket = HandleStore::Ticket;
  static hipEvent_t EventOf(const Ticket& ticket) {
    return static_cast<hipEvent_t>(ticket.handle());
  }

  // A parked event, else a new one, for the caller alone. `hip` is of this
  // device, here and below.
  HipResult Take(HipScope& hip, Ticket* event);

  // Whether it was forgotten by Invalidate. Nothing is done with it then.
  bool IsForgotten(const Ticket& event) const { return !store_.IsGood(event); }

  // The three ways for an event to leave its user: parked for the next one;
  // destroyed, since a HIP call on it failed; left to HIP, which still writes
  // to it when the stream capture that it was recorded in ends.
  void GiveBack(const Ticket& event);
  void Destroy(HipScope& hip, const Ticket& event);
  void Forget(const Ticket& event);

  // Destroys what is parked. Returns the first error.
  HipResult Trim(HipScope& hip);

  // For after hipDeviceReset: forgets every event, without a HIP call.
  void Invalidate() { store_.Invalidate(); }

 private:
  HandleStore store_;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_DEVICE_EVENTS_H_
