// SPDX-License-Identifier: Apache-2.0
//
// The fixture of the tests over the scripted HIP. Each test starts with a HIP
// that has four devices and a pool that has forgotten what came before; after
// each, HIP must have seen nothing that no caller may do, and the thread's
// device and capture mode must be what they were.
#ifndef HIP_STREAM_POOL_TESTS_POOL_TEST_H_
#define HIP_STREAM_POOL_TESTS_POOL_TEST_H_

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "process_pool.h"
#include "scripted_hip/scripted_hip.h"
#include "scripted_pool.h"
#include "stream_testing.h"

namespace hip_stream_pool {

class PoolTest : public ::testing::Test, protected ScriptedPool {
 protected:
  PoolTest() {
    hip.SetLockProbe([this] { TakeEveryLock(); });
    StartOver();
  }

  ~PoolTest() override {
    EXPECT_THAT(hip.Faults(), ::testing::IsEmpty());
    EXPECT_EQ(scripted_hip::CurrentDevice(), kCallersDevice);
    EXPECT_EQ(scripted_hip::CurrentMode(), hipStreamCaptureModeGlobal);
    hip.SetLockProbe(nullptr);
    Reset();
  }

  void StartOver() {
    ScriptedPool::StartOver();
    start_ = cache.GetStats();
  }

  // What has been counted in this test.
  StreamCacheStats Stats() const {
    StreamCacheStats now = cache.GetStats();
    now.hits -= start_.hits;
    now.misses -= start_.misses;
    now.parked_total -= start_.parked_total;
    now.destroyed_total -= start_.destroyed_total;
    now.refused_error -= start_.refused_error;
    now.refused_capturing -= start_.refused_capturing;
    now.refused_foreign -= start_.refused_foreign;
    now.refused_over_limit -= start_.refused_over_limit;
    now.refused_key_mismatch -= start_.refused_key_mismatch;
    now.dropped_stale -= start_.dropped_stale;
    now.abandoned -= start_.abandoned;
    return now;
  }

  // Waits where a lock of the pool is held while HIP is called: see LockProbe.
  void TakeEveryLock() {
    Pool& pool = ProcessPool();
    for (int i = 0; i < pool.device_count(); ++i) {
      (void)pool.device(i).Has(nullptr);
      (void)pool.device(i).events().parked();
    }
  }

  // A stream of device 0 that is parked.
  hipStream_t Parked(const StreamKey& key = {}) {
    hipStream_t stream = Create(key);
    Destroy(stream, key.device_ordinal);
    return stream;
  }

 private:
  StreamCacheStats start_;
};

MATCHER_P(HasCode, code, absl::StatusCodeToString(code)) {
  *result_listener << arg;
  return arg.code() == code;
}

inline auto IsInvalidArgument() {
  return HasCode(absl::StatusCode::kInvalidArgument);
}
inline auto IsFailedPrecondition() {
  return HasCode(absl::StatusCode::kFailedPrecondition);
}
inline auto IsResourceExhausted() {
  return HasCode(absl::StatusCode::kResourceExhausted);
}
inline auto IsCancelled() { return HasCode(absl::StatusCode::kCancelled); }
inline auto IsInternal() { return HasCode(absl::StatusCode::kInternal); }

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_TESTS_POOL_TEST_H_
