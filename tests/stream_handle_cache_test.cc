// SPDX-License-Identifier: Apache-2.0
//
// Filling, emptying, limiting and watching the pool, over the scripted HIP.
#include "hip_stream_pool/stream_handle_cache.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "pool_test.h"

namespace hip_stream_pool {
namespace {

using scripted_hip::ScriptedHip;
using ::testing::IsEmpty;

class StreamHandleCacheTest : public PoolTest {};

TEST_F(StreamHandleCacheTest, PrewarmCreatesInTheOrderGivenAndParks) {
  const std::vector<StreamKey> keys = {
      {0, 0, -1}, {1, 0, 0}, {0, 0, 0}, {0, 0, -9}, {0, 0, 0}};
  ASSERT_TRUE(cache.Prewarm(keys).ok());
  EXPECT_EQ(Stats().parked_now, 5);
  EXPECT_EQ(Stats().misses, 0);
  // The scripted HIP's handles grow with each creation.
  std::vector<hipStream_t> leased;
  for (const StreamKey& key : keys) leased.push_back(Create(key));
  EXPECT_TRUE(std::is_sorted(leased.begin(), leased.end()));
  EXPECT_EQ(Stats().hits, 5);
  EXPECT_EQ(Stats().misses, 0);
}

TEST_F(StreamHandleCacheTest, PrewarmCreatesOnlyWhatIsMissing) {
  hipStream_t parked = Parked();
  ASSERT_TRUE(cache.Prewarm({{}, {}, {}}).ok());
  EXPECT_EQ(hip.LiveStreams(), 3);
  ASSERT_TRUE(cache.Prewarm({{}, {}, {}}).ok());
  EXPECT_EQ(hip.LiveStreams(), 3);
  EXPECT_EQ(Create({}), parked);
}

TEST_F(StreamHandleCacheTest, PrewarmChecksEverythingBeforeItCreates) {
  EXPECT_THAT(cache.Prewarm({{}, {0, 9, 0}}), IsInvalidArgument());
  EXPECT_THAT(cache.Prewarm({{}, {kDevices, 0, 0}}), IsInvalidArgument());
  cache.SetMaxParkedPerKey(1);
  EXPECT_THAT(cache.Prewarm({{}, {}}), IsInvalidArgument());
  EXPECT_THAT(cache.Prewarm({{0, 0, -1}, {0, 0, -2}}), IsInvalidArgument())
      << "one key once the priority is in range";
  EXPECT_EQ(hip.LiveStreams(), 0);
}

TEST_F(StreamHandleCacheTest, PrewarmsOnSeveralThreadsKeepToTheLimit) {
  cache.SetMaxParkedPerKey(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_TRUE(cache.Prewarm({{}}).ok()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Stats().parked_now, 1);
  EXPECT_EQ(hip.LiveStreams(), 1);
}

TEST_F(StreamHandleCacheTest, PrewarmReportsWhatHipSays) {
  hip.Fail("hipStreamCreateWithPriority", hipErrorOutOfMemory, /*after=*/1,
           ScriptedHip::kForever);
  EXPECT_THAT(cache.Prewarm({{}, {}}), IsResourceExhausted());
  EXPECT_EQ(Stats().leased_now, 0);
}

// It would be what this very call has made.
TEST_F(StreamHandleCacheTest, PrewarmDestroysNothingToMakeRoom) {
  hip.Fail("hipStreamCreateWithPriority", hipErrorOutOfMemory, /*after=*/2);
  EXPECT_THAT(cache.Prewarm({{}, {}, {}}), IsResourceExhausted());
  EXPECT_EQ(Stats().parked_now, 2) << "what was created by then stays";
  EXPECT_EQ(hip.Count("hipStreamDestroy"), 0);
  EXPECT_TRUE(cache.Prewarm({{}, {}, {}}).ok());
  EXPECT_EQ(Stats().parked_now, 3);
}

TEST_F(StreamHandleCacheTest, TrimDestroysWhatIsParkedOnTheDevice) {
  hipStream_t leased = Create({0, 0, 0});
  Parked({0, 1, -1});
  Parked({0, 1, 0});
  hipStream_t other = Parked({1, 0, 0});
  ASSERT_TRUE(cache.Trim(0).ok());
  EXPECT_EQ(hip.LiveStreams(), 2);
  EXPECT_TRUE(hip.IsLive(leased));
  EXPECT_TRUE(hip.IsLive(other));
  EXPECT_EQ(Stats().parked_now, 1);
  EXPECT_EQ(Stats().destroyed_total, 2);
}

TEST_F(StreamHandleCacheTest, TrimOfADeviceThatDoesNotExistIsRefused) {
  EXPECT_THAT(cache.Trim(-1), IsInvalidArgument());
  EXPECT_THAT(cache.Trim(kDevices), IsInvalidArgument());
}

TEST_F(StreamHandleCacheTest, TrimTriesEveryStreamAndReportsTheFirstError) {
  for (int priority : {-1, 0, 1}) Parked({0, 0, priority});
  hip.Fail("hipStreamDestroy", hipErrorLaunchFailure, /*after=*/1);
  EXPECT_THAT(cache.Trim(0), IsInternal());
  EXPECT_EQ(hip.Count("hipStreamDestroy"), 3);
  EXPECT_EQ(Stats().destroyed_total, 2);
  EXPECT_EQ(Stats().abandoned, 1);
  EXPECT_EQ(Stats().parked_now, 0);
}

TEST_F(StreamHandleCacheTest, TrimAllTrimsEveryDevice) {
  hipStream_t captured = Parked({0, 0, 0});
  for (int device = 1; device < kDevices; ++device) Parked({device, 0, 0});
  hip.SetCaptureStatus(captured, hipStreamCaptureStatusActive);
  EXPECT_THAT(cache.TrimAll(), IsFailedPrecondition());
  EXPECT_EQ(hip.LiveStreams(), 1);
  EXPECT_EQ(Stats().parked_now, 1) << "device 0 has lost nothing";
  hip.SetCaptureStatus(captured, hipStreamCaptureStatusNone);
  EXPECT_TRUE(cache.TrimAll().ok());
  EXPECT_EQ(hip.LiveStreams(), 0);
}

TEST_F(StreamHandleCacheTest, InvalidateForgetsTheDeviceWithoutAHipCall) {
  hipStream_t leased = Create({0, 0, 0});
  hipStream_t parked = Parked({0, 1, 0});
  hipStream_t other = Parked({1, 0, 0});
  hip.ResetDevice(0);
  hip.ClearCalls();
  cache.Invalidate(0);
  EXPECT_THAT(hip.Calls(), IsEmpty());
  EXPECT_EQ(Stats().parked_now, 1);
  EXPECT_EQ(Stats().leased_now, 0);
  EXPECT_EQ(Stats().dropped_stale, 1);
  Destroy(leased);
  EXPECT_THAT(hip.Calls(), IsEmpty()) << "it died with the device";
  EXPECT_THAT(DestroyStream(0, parked), IsFailedPrecondition());
  EXPECT_EQ(Create({1, 0, 0}), other);
}

TEST_F(StreamHandleCacheTest, InvalidateReachesAStreamThatIsBeingParked) {
  hipStream_t stream = Create({});
  hip.During("hipStreamGetPriority", [&] { cache.Invalidate(0); });
  Destroy(stream);
  EXPECT_EQ(Stats().parked_now, 0);
  EXPECT_EQ(hip.Count("hipStreamDestroy"), 0);
}

TEST_F(StreamHandleCacheTest, InvalidateOfADeviceThatDoesNotExistDoesNothing) {
  Parked();
  cache.Invalidate(-1);
  cache.Invalidate(kDevices);
  EXPECT_EQ(Stats().parked_now, 1);
}

TEST_F(StreamHandleCacheTest, StatsHaveEveryFieldByName) {
  StreamCacheStats stats;
  int64_t value = 0;
  for (int64_t* field :
       {&stats.hits, &stats.misses, &stats.parked_total, &stats.destroyed_total,
        &stats.refused_error, &stats.refused_capturing, &stats.refused_foreign,
        &stats.refused_over_limit, &stats.refused_key_mismatch,
        &stats.dropped_stale, &stats.abandoned, &stats.parked_now,
        &stats.leased_now}) {
    *field = ++value;
  }
  EXPECT_EQ(stats.ToString(),
            "hits=1 misses=2 parked_total=3 destroyed_total=4 refused_error=5 "
            "refused_capturing=6 refused_foreign=7 refused_over_limit=8 "
            "refused_key_mismatch=9 dropped_stale=10 abandoned=11 "
            "parked_now=12 leased_now=13");
}

TEST_F(StreamHandleCacheTest, WhatComesInIsAccountedFor) {
  cache.SetMaxParkedPerKey(1);
  std::vector<hipStream_t> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(Create({}));
  hip.SetCaptureStatus(streams[1], hipStreamCaptureStatusActive);
  hip.SetReadsAs(streams[2], 1, 0);
  for (hipStream_t stream : streams) Destroy(stream);
  Destroy(hip.CreateElsewhere(0, 0, 0));
  const StreamCacheStats stats = Stats();
  EXPECT_EQ(stats.parked_total, 1);
  EXPECT_EQ(stats.refused_capturing, 1);
  EXPECT_EQ(stats.refused_key_mismatch, 1);
  EXPECT_EQ(stats.refused_over_limit, 1);
  EXPECT_EQ(stats.refused_foreign, 1);
  EXPECT_EQ(stats.destroyed_total, 4);
  EXPECT_EQ(hip.LiveStreams(), stats.parked_now + stats.leased_now);
}

}  // namespace
}  // namespace hip_stream_pool
