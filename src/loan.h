// SPDX-License-Identifier: Apache-2.0
//
// CreateStream and DestroyStream for an owner that remembers which loan of the
// handle is its own: after a device reset, HIP can give another the same one.
#ifndef HIP_STREAM_POOL_SRC_LOAN_H_
#define HIP_STREAM_POOL_SRC_LOAN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/stream_key.h"

namespace hip_stream_pool {

// `loan` is set to its number, which is not 0.
absl::StatusOr<hipStream_t> TakeLoan(const StreamKey& key, uint64_t* loan);

// False if it ended with a reset of the device: then the stream is gone.
bool IsLent(int device_ordinal, hipStream_t stream, uint64_t loan);

// OK, with nothing done, if that loan ended with a reset of the device.
absl::Status EndLoan(int device_ordinal, hipStream_t stream, uint64_t loan);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_LOAN_H_
