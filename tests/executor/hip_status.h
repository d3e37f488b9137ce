// SPDX-License-Identifier: Apache-2.0
//
// HIP's errors as values.
#ifndef HIP_STREAM_POOL_TESTS_EXECUTOR_HIP_STATUS_H_
#define HIP_STREAM_POOL_TESTS_EXECUTOR_HIP_STATUS_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hip/hip_runtime_api.h"

namespace hip_stream_pool {

// What the call of HIP's with that name answered.
inline absl::Status HipStatus(const char* call, hipError_t error) {
  if (error == hipSuccess) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call, ": ", hipGetErrorName(error)));
}

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_TESTS_EXECUTOR_HIP_STATUS_H_
