// SPDX-License-Identifier: Apache-2.0
//
// HIP_STREAM_POOL_MAX_PARKED is read when the pool starts, so ctest runs this
// once for each value, with the limit to expect in EXPECTED_LIMIT.
#include <cstdlib>
#include <vector>

#include "pool_test.h"

namespace hip_stream_pool {
namespace {

TEST(MaxParkedEnvironmentTest, SetsTheLimitAtTheStart) {
  scripted_hip::ScriptedHip::Get().Reset();
  const int expected = std::atoi(std::getenv("EXPECTED_LIMIT"));
  std::vector<hipStream_t> streams;
  for (int i = 0; i < 40; ++i) streams.push_back(*CreateStream({}));
  for (hipStream_t stream : streams) ASSERT_TRUE(DestroyStream(0, stream).ok());
  EXPECT_EQ(StreamHandleCache::Get().GetStats().parked_now, expected);
}

}  // namespace
}  // namespace hip_stream_pool
