// SPDX-License-Identifier: Apache-2.0
//
// StreamHandleCache is the process's pool of parked streams: idle hipStream_t
// handles, by device, flags and priority, that wait for their next user
// instead of being destroyed. Streams go in and out through CreateStream and
// DestroyStream (create_stream.h); this class is for the program that wants to
// fill, empty, limit or watch the pool.
//
// All members may be called from any thread. No lock is held while HIP works,
// and the calling thread's device and stream capture mode are given back.
//
// A stream is reused in the order of creation, the earliest first. So a client
// that creates its streams in the same order as the one before it gets the
// same stream for the same role, and with it the same hardware queue.
//
// While the process exits, and in a child forked after the first use, the pool
// makes no HIP call: CreateStream and Prewarm return FailedPrecondition and
// everything else does nothing. What is parked then is left to the system.
//
// If the system has no memory for the pool's bookkeeping, the process ends
// (std::terminate): no call throws half-way and loses a stream. A thread that
// is cancelled (pthread_cancel) while HIP works for it may lose that one
// stream.
//
// A parked stream keeps the memory that HIP has for a stream (5 to 9 MiB) and
// its share of a hardware queue. A shared library that links the pool should
// call TrimAll before it is unloaded by dlclose.
#ifndef HIP_STREAM_POOL_STREAM_HANDLE_CACHE_H_
#define HIP_STREAM_POOL_STREAM_HANDLE_CACHE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/create_stream.h"
#include "hip_stream_pool/stream_cache_stats.h"
#include "hip_stream_pool/stream_key.h"

namespace hip_stream_pool {

class StreamHandleCache {
 public:
  // The process's pool. Never destroyed.
  static StreamHandleCache& Get();

  StreamHandleCache(const StreamHandleCache&) = delete;
  StreamHandleCache& operator=(const StreamHandleCache&) = delete;

  // Makes sure that as many streams are parked as `keys` names, and creates
  // those that are missing, in the order given. Each of the keys' next
  // CreateStream is then a hit. Checks all keys before it creates anything.
  // InvalidArgument if `keys` names a key more often than the limit allows;
  // else CreateStream's errors, after which what was created by then stays.
  // ResourceExhausted comes at once: nothing parked is destroyed to make room.
  [[nodiscard]] absl::Status Prewarm(absl::Span<const StreamKey> keys);

  // Destroys what is parked for the device, or held back (see Invalidate), and
  // the pool's own events. A parked stream that somebody captures stays, since
  // destroying it would end the capture: FailedPrecondition. Returns the first
  // error, after all have been tried.
  [[nodiscard]] absl::Status Trim(int device_ordinal);

  // Trims every device.
  [[nodiscard]] absl::Status TrimAll();

  // Forgets every stream of the device, parked or leased, without a HIP call:
  // for after hipDeviceReset, which destroys them all. An owner may still
  // return its stream: Release and, until the next Invalidate, DestroyStream
  // then do nothing and return OK. DestroyStream knows the handle alone. So
  // until it is called, a new stream to which HIP gives the same handle on that
  // device is held back: it is not leased. A device that does not exist has
  // nothing to forget. HIP keeps its events, and so does the pool.
  //
  // Without Invalidate, the pool learns of a reset only when HIP gives a handle
  // again. The new stream then belongs to its new user. If the old owner calls
  // DestroyStream with that handle, it takes the new user's stream.
  void Invalidate(int device_ordinal);

  // How many streams of one key may be parked: 128, or what the environment
  // variable HIP_STREAM_POOL_MAX_PARKED said when the pool was first used
  // (anything but a number from 0 up is reported on stderr and ignored). 0, and
  // any number below, turns parking off. What is parked already stays: see
  // Trim.
  void SetMaxParkedPerKey(int limit);

  // Exact when no other thread is in a call of the pool.
  StreamCacheStats GetStats() const;

 private:
  StreamHandleCache() = default;
  ~StreamHandleCache() = default;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_STREAM_HANDLE_CACHE_H_
