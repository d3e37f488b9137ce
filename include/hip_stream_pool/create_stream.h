// SPDX-License-Identifier: Apache-2.0
//
// The two calls that an executor makes instead of hipStreamCreateWithPriority
// and hipStreamDestroy. They are those calls with a process-wide pool of idle
// streams between them and the driver (stream_handle_cache.h).
//
//   absl::StatusOr<hipStream_t> stream = CreateStream({/*device_ordinal=*/0});
//   if (!stream.ok()) return stream.status();
//   ...
//   absl::Status destroyed = DestroyStream(/*device_ordinal=*/0, *stream);
//
// Both may be called from any thread, with any device current and in any
// stream capture mode; the caller's device and mode are as before when they
// return. They hold no lock while HIP works.
#ifndef HIP_STREAM_POOL_CREATE_STREAM_H_
#define HIP_STREAM_POOL_CREATE_STREAM_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/stream_key.h"

namespace hip_stream_pool {

// Returns an idle stream of `key`, for the caller alone: a parked one that
// still proves valid and idle, the earliest created first, else a new one.
//
// When the device is out of memory, its parked streams are destroyed and the
// creation is tried once more. Errors, each naming the HIP call, the key and
// HIP's name for what went wrong:
//   InvalidArgument     no such device, or flags other than 0 and 1
//   ResourceExhausted   the device is out of memory or of hardware queues
//   FailedPrecondition  HIP sees no device; a forked child; the process exits
//   Internal            any other error of HIP
[[nodiscard]] absl::StatusOr<hipStream_t> CreateStream(const StreamKey& key);

// Takes back a stream that CreateStream returned for `device_ordinal`, and
// parks it, or destroys it where parking it could harm its next user: it is
// being captured, it fails a HIP call, it reads other flags or another
// priority than it was made with, or there are enough of its key already.
// Waits for the stream's work, as hipStreamDestroy does on AMD devices. The
// stream must not be used afterwards.
//
// A stream that the pool did not create is destroyed and never parked.
//
// HIP 5.2 to 5.7: a query of a stream with hipStreamDefault waits for the null
// stream. So this call waits for the null stream's work too, where
// hipStreamDestroy does not; and CreateStream leases such a stream without a
// query. From HIP 6.0 on neither is so.
//
// Errors that leave the stream as it was, still the caller's:
//   InvalidArgument     no such device, another device's stream, or the null,
//                       legacy or per-thread stream, which nobody may destroy
//   FailedPrecondition  destroyed before: it is parked, or HIP does not know it
//                       (an owner whose device was reset gets OK: see
//                       StreamHandleCache::Invalidate)
// After any other error the stream is gone for the caller. The message says
// which HIP call failed; an error of the stream's own work, such as a failed
// kernel, is reported here too. In a forked child and while the process exits
// this does nothing and returns OK.
[[nodiscard]] absl::Status DestroyStream(int device_ordinal,
                                         hipStream_t stream);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_CREATE_STREAM_H_
