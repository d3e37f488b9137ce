// SPDX-License-Identifier: Apache-2.0
//
// Creates and destroys streams where that must succeed.
#ifndef HIP_STREAM_POOL_TESTS_STREAM_TESTING_H_
#define HIP_STREAM_POOL_TESTS_STREAM_TESTING_H_

#include <utility>

#include "gtest/gtest.h"
#include "hip_stream_pool/create_stream.h"
#include "hip_stream_pool/rocm_stream.h"

namespace hip_stream_pool {

inline hipStream_t Create(const StreamKey& key) {
  absl::StatusOr<hipStream_t> stream = CreateStream(key);
  EXPECT_TRUE(stream.ok()) << stream.status();
  return stream.ok() ? *stream : nullptr;
}

inline RocmStream MakeStream(const StreamKey& key = {}) {
  absl::StatusOr<RocmStream> stream = RocmStream::Create(key);
  EXPECT_TRUE(stream.ok()) << stream.status();
  return *std::move(stream);
}

inline void Destroy(hipStream_t stream, int device = 0) {
  absl::Status status = DestroyStream(device, stream);
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_TESTS_STREAM_TESTING_H_
