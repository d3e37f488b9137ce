// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/create_stream.h"

#include "hip/stream_checks.h"
#include "process_pool.h"
#include "status.h"

namespace hip_stream_pool {

absl::StatusOr<hipStream_t> CreateStream(const StreamKey& key) {
  Lease lease;
  const Result result = ProcessPool().Acquire(key, &lease);
  if (!result.ok()) return Failure(result, {"CreateStream", key});
  return lease.stream;
}

absl::Status DestroyStream(int device_ordinal, hipStream_t stream) {
  const Result result =
      IsSpecialStream(stream)
          ? Refused(Refusal::kSpecialStream)
          : ProcessPool().Return(device_ordinal, stream, /*lease=*/0);
  return ToStatus(result, {"DestroyStream", device_ordinal});
}

}  // namespace hip_stream_pool
