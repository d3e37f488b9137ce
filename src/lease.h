// SPDX-License-Identifier: Apache-2.0
//
// CreateStream and DestroyStream for an owner that remembers which lease of the
// handle is its own: after a device reset, HIP can give the same handle to
// another owner.
#ifndef HIP_STREAM_POOL_SRC_LEASE_H_
#define HIP_STREAM_POOL_SRC_LEASE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/stream_key.h"

namespace hip_stream_pool {

// `lease` is set to its id, which is not 0.
absl::StatusOr<hipStream_t> AcquireStream(const StreamKey& key,
                                          uint64_t* lease);

// False if Invalidate has ended the lease: then the stream is gone.
bool IsLeased(int device_ordinal, hipStream_t stream, uint64_t lease);

// OK, with nothing done, if Invalidate has ended the lease.
absl::Status ReturnStream(int device_ordinal, hipStream_t stream,
                          uint64_t lease);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_LEASE_H_
