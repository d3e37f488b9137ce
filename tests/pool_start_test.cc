// SPDX-License-Identifier: Apache-2.0
//
// What the pool does the first time in a process: each of these needs a process
// of its own, which ctest gives it.
#include <cstdlib>
#include <vector>

#include "pool_test.h"

namespace hip_stream_pool {
namespace {

scripted_hip::ScriptedHip& NewHip() {
  scripted_hip::ScriptedHip::Get().Reset();
  return scripted_hip::ScriptedHip::Get();
}

// Run for each value of HIP_STREAM_POOL_MAX_PARKED.
TEST(PoolStartTest, TakesTheLimitFromTheEnvironment) {
  NewHip();
  const char* limit = std::getenv("EXPECTED_LIMIT");
  const int expected = limit == nullptr ? 128 : std::atoi(limit);
  std::vector<hipStream_t> streams;
  for (int i = 0; i < 140; ++i) streams.push_back(*CreateStream({}));
  for (hipStream_t stream : streams) ASSERT_TRUE(DestroyStream(0, stream).ok());
  EXPECT_EQ(StreamHandleCache::Get().GetStats().parked_now, expected);
}

TEST(PoolStartTest, WithoutADeviceSaysSoAndTriesAgainTheNextTime) {
  scripted_hip::ScriptedHip& hip = NewHip();
  StreamHandleCache& cache = StreamHandleCache::Get();
  hip.Fail("hipGetDeviceCount", hipErrorNoDevice);
  absl::Status status = CreateStream({}).status();
  EXPECT_THAT(status, IsFailedPrecondition());
  EXPECT_EQ(status.message(),
            "CreateStream(device 0, flags 0, priority 0): hipGetDeviceCount "
            "failed: hipErrorNoDevice = 100: HIP sees no GPU");
  EXPECT_EQ(scripted_hip::LastError(), hipSuccess);
  EXPECT_TRUE(CreateStream({}).ok());
  EXPECT_EQ(cache.GetStats().leased_now, 1);
}

TEST(PoolStartTest, NeedsNoHipToBeLookedAtOrEmptied) {
  scripted_hip::ScriptedHip& hip = NewHip();
  StreamHandleCache& cache = StreamHandleCache::Get();
  EXPECT_EQ(cache.GetStats().ToString(), StreamCacheStats().ToString());
  EXPECT_TRUE(cache.TrimAll().ok());
  cache.Invalidate(0);
  EXPECT_THAT(hip.Calls(), ::testing::IsEmpty());
}

TEST(PoolStartTest, AsksForThePrioritiesUntilItKnowsThem) {
  scripted_hip::ScriptedHip& hip = NewHip();
  hip.Fail("hipDeviceGetStreamPriorityRange", hipErrorLaunchFailure);
  EXPECT_THAT(CreateStream({}).status(), IsInternal());
  hip.SetPriorityRange(0, -5);
  EXPECT_TRUE(CreateStream({0, 0, 3}).ok());
  EXPECT_TRUE(CreateStream({0, 0, -3}).ok());
  EXPECT_EQ(hip.Count("hipDeviceGetStreamPriorityRange"), 2);
}

TEST(PoolStartTest, WorksOnADeviceWithOnePriority) {
  scripted_hip::ScriptedHip& hip = NewHip();
  hip.SetPriorityRange(0, 0);
  hipStream_t stream = *CreateStream({0, 0, -1});
  ASSERT_TRUE(DestroyStream(0, stream).ok());
  EXPECT_EQ(*CreateStream({0, 0, 1}), stream);
}

}  // namespace
}  // namespace hip_stream_pool
