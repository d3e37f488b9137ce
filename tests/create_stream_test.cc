// SPDX-License-Identifier: Apache-2.0
//
// CreateStream and DestroyStream over the scripted HIP.
#include "hip_stream_pool/create_stream.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "hip/hip.h"
#include "pool_test.h"

namespace hip_stream_pool {
namespace {

using scripted_hip::Call;
using scripted_hip::HipVersion;
using scripted_hip::ScriptedHip;
using scripted_hip::Version;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CreateStreamTest : public PoolTest {};

std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

TEST_F(CreateStreamTest, ADestroyedStreamIsTheNextOneOfItsKey) {
  hipStream_t first = Create({0, hipStreamNonBlocking, -1});
  Destroy(first);
  EXPECT_EQ(Create({0, hipStreamNonBlocking, -1}), first);
  EXPECT_EQ(hip.Count("hipStreamCreateWithPriority"), 1);
  EXPECT_EQ(hip.Count("hipStreamDestroy"), 0);
  EXPECT_EQ(Stats().hits, 1);
  EXPECT_EQ(Stats().misses, 1);
  EXPECT_EQ(Stats().leased_now, 1);
  EXPECT_EQ(Stats().parked_now, 0);
}

// Of each version, by whether a query would wait for the null stream.
TEST_F(CreateStreamTest, AHitAndAParkMakeOnlyTheHipCallsTheyNeed) {
  const bool has_identities = Version() == HipVersion::k72;
  std::string identity;
  if (Version() >= HipVersion::k57) identity = "StreamGetDevice ";
  if (has_identities) identity = "StreamGetId ";
  std::string relax;
  if (Version() >= HipVersion::k64) relax = "ThreadExchangeStreamCaptureMode";
  const auto in_relaxed_mode = [&](const std::string& calls) {
    return relax.empty() ? calls : relax + " " + calls + " " + relax;
  };
  for (unsigned int flags : {hipStreamDefault, hipStreamNonBlocking}) {
    const bool query_waits =
        flags == hipStreamDefault && Version() < HipVersion::k64;
    Parked({0, flags});
    hip.ClearCalls();
    hipStream_t stream = Create({0, flags});
    EXPECT_EQ(hip.CallNames(),
              identity + (query_waits ? "StreamIsCapturing"
                                      : in_relaxed_mode("StreamQuery")));
    hip.ClearCalls();
    Destroy(stream);
    EXPECT_EQ(
        hip.CallNames(),
        (has_identities ? identity : "") + "StreamIsCapturing " +
            in_relaxed_mode(std::string("StreamQuery StreamGetFlags "
                                        "StreamGetPriority") +
                            (has_identities ? " StreamGetAttribute" : "")));
  }
}

TEST_F(CreateStreamTest, ReusesInTheOrderOfCreation) {
  std::vector<hipStream_t> created;
  for (int i = 0; i < 14; ++i) created.push_back(Create({}));
  std::vector<hipStream_t> shuffled = created;
  std::sort(shuffled.begin(), shuffled.end(), [](auto a, auto b) {
    return std::hash<void*>()(a) % 97 < std::hash<void*>()(b) % 97;
  });
  for (hipStream_t stream : shuffled) Destroy(stream);
  for (hipStream_t stream : created) EXPECT_EQ(Create({}), stream);
}

TEST_F(CreateStreamTest, KeepsDevicesFlagsAndPrioritiesApart) {
  const std::vector<StreamKey> keys = {
      {0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};
  std::vector<hipStream_t> streams;
  for (const StreamKey& key : keys) streams.push_back(Parked(key));
  for (size_t i = keys.size(); i-- > 0;) {
    EXPECT_EQ(Create(keys[i]), streams[i]) << ToString(keys[i]);
  }
  EXPECT_EQ(Stats().hits, 5);
}

TEST_F(CreateStreamTest, ClampsThePriorityBeforeTheLookUp) {
  hipStream_t urgent = Parked({0, 0, -100});
  EXPECT_EQ(Create({0, 0, -1}), urgent);
  Destroy(urgent);
  EXPECT_EQ(Create({0, 0, -7}), urgent);
  hipStream_t low = Parked({0, 0, 5});
  EXPECT_EQ(Create({0, 0, 1}), low);
  EXPECT_EQ(Stats().misses, 2);
  EXPECT_EQ(Stats().refused_key_mismatch, 0);
}

TEST_F(CreateStreamTest, RefusesFlagsThatHipDoesNotHave) {
  EXPECT_THAT(CreateStream({0, 2, 0}).status(), AllOf(IsInvalidArgument()));
  EXPECT_THAT(Message(CreateStream({0, 7, 0}).status()),
              HasSubstr("device 0, flags 7, priority 0"));
  EXPECT_EQ(hip.Count("hipStreamCreateWithPriority"), 0);
}

TEST_F(CreateStreamTest, RefusesDevicesThatDoNotExist) {
  EXPECT_THAT(CreateStream({kDevices, 0, 0}).status(), IsInvalidArgument());
  EXPECT_THAT(CreateStream({-1, 0, 0}).status(), IsInvalidArgument());
  hipStream_t stream = Create({});
  EXPECT_THAT(DestroyStream(kDevices, stream), IsInvalidArgument());
  EXPECT_THAT(DestroyStream(-1, stream), IsInvalidArgument());
  EXPECT_EQ(hip.LiveStreams(), 1);
  Destroy(stream);
}

// The device matters to a creation alone, and the mode to what a capture
// elsewhere could disturb, or be disturbed by.
TEST_F(CreateStreamTest, CallsAreMadeWithTheDeviceAndTheModeTheyNeed) {
  for (int device : {0, 1, 2}) {
    hip.ClearCalls();
    const StreamKey key = {device, hipStreamNonBlocking};
    Destroy(Create(key), device);
    Destroy(Create(key), device);
    ASSERT_TRUE(cache.Trim(device).ok());
    for (const Call& call : hip.Calls()) {
      EXPECT_EQ(call.thread, std::this_thread::get_id()) << call.name;
      const bool creates = call.name == "hipStreamCreateWithPriority";
      if (creates) {
        EXPECT_EQ(call.device, device);
      }
      if (creates || call.name == "hipStreamDestroy" ||
          (call.name == "hipStreamQuery" && Version() >= HipVersion::k64)) {
        EXPECT_EQ(call.mode, hipStreamCaptureModeRelaxed) << call.name;
      }
    }
    EXPECT_EQ(hip.Count("hipStreamCreateWithPriority"), 1);
    EXPECT_EQ(hip.Count("hipStreamQuery"), 3);
    EXPECT_EQ(hip.Count("hipStreamDestroy"), 1);
    EXPECT_EQ(hip.Count("hipSetDevice"), 2) << "for the creation";
    EXPECT_EQ(scripted_hip::CurrentDevice(), kCallersDevice);
  }
}

TEST_F(CreateStreamTest, TheNullLegacyAndPerThreadStreamsAreRefused) {
  hip.ClearCalls();
  for (hipStream_t stream :
       {hipStream_t{nullptr}, reinterpret_cast<hipStream_t>(1),
        hipStreamPerThread}) {
    EXPECT_THAT(DestroyStream(0, stream), IsInvalidArgument());
  }
  EXPECT_THAT(hip.Calls(), IsEmpty());
}

TEST_F(CreateStreamTest, ASecondDestroyIsRefusedAndLeasesNothingTwice) {
  hipStream_t stream = Parked();
  hip.ClearCalls();
  EXPECT_THAT(DestroyStream(0, stream), IsFailedPrecondition());
  EXPECT_THAT(hip.Calls(), IsEmpty());
  EXPECT_EQ(Create({}), stream);
  EXPECT_NE(Create({}), stream);
}

TEST_F(CreateStreamTest, ADestroyDuringADestroyIsRefused) {
  hipStream_t stream = Create({});
  absl::Status second;
  hip.During("hipStreamGetFlags", [&] {
    hip.During("hipStreamGetFlags", nullptr);
    second = DestroyStream(0, stream);
  });
  Destroy(stream);
  EXPECT_THAT(second, IsFailedPrecondition());
  EXPECT_EQ(Stats().parked_now, 1);
}

TEST_F(CreateStreamTest, AnotherDevicesStreamIsRefusedAndLeftAlone) {
  hipStream_t stream = Create({1, 0, 0});
  hip.ClearCalls();
  EXPECT_THAT(DestroyStream(0, stream), IsInvalidArgument());
  EXPECT_THAT(hip.Calls(), IsEmpty());
  Destroy(stream, 1);
  EXPECT_THAT(DestroyStream(0, stream), IsInvalidArgument()) << "when parked";
  EXPECT_EQ(Create({1, 0, 0}), stream);
}

TEST_F(CreateStreamTest, AStreamOfSomeoneElseIsDestroyedAndNeverParked) {
  // A stream with a CU mask reads like this too.
  hipStream_t foreign = hip.CreateElsewhere(0, hipStreamDefault, 0);
  Destroy(foreign);
  EXPECT_FALSE(hip.IsLive(foreign));
  EXPECT_EQ(Stats().refused_foreign, 1);
  EXPECT_EQ(Stats().destroyed_total, 1);
  EXPECT_EQ(Stats().parked_now, 0);
}

TEST_F(CreateStreamTest, ADestroyedStreamOfSomeoneElseIsRefused) {
  hipStream_t foreign = hip.CreateElsewhere(0, hipStreamDefault, 0);
  Destroy(foreign);
  EXPECT_THAT(DestroyStream(0, foreign), IsFailedPrecondition());
  EXPECT_EQ(Stats().abandoned, 0);
}

TEST_F(CreateStreamTest, ParksNoMoreThanTheLimitOfAKey) {
  cache.SetMaxParkedPerKey(2);
  std::vector<hipStream_t> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(Create({}));
  hipStream_t other = Create({0, 1, 0});
  for (hipStream_t stream : streams) Destroy(stream);
  Destroy(other);
  EXPECT_EQ(Stats().parked_now, 3);
  EXPECT_EQ(Stats().refused_over_limit, 1);
  EXPECT_EQ(Stats().destroyed_total, 1);
  EXPECT_FALSE(hip.IsLive(streams[2]));
}

TEST_F(CreateStreamTest, ALimitOfZeroOrLessTurnsParkingOff) {
  for (int limit : {0, -5}) {
    cache.SetMaxParkedPerKey(limit);
    Destroy(Create({}));
    EXPECT_EQ(Stats().parked_now, 0);
    EXPECT_EQ(hip.LiveStreams(), 0);
  }
}

TEST_F(CreateStreamTest, ABusyStreamIsWaitedForAndThenParked) {
  hipStream_t stream = Create({});
  hip.SetBusy(stream);
  Destroy(stream);
  EXPECT_EQ(hip.Count("hipStreamSynchronize"), 1);
  EXPECT_EQ(Stats().parked_now, 1);
  EXPECT_EQ(Create({}), stream);
}

TEST_F(CreateStreamTest, AStreamThatSaysBusyOnceBehindASynchronizeIsParked) {
  hipStream_t stream = Create({});
  hip.SetBusy(stream);
  hip.SetQueriesBehindSynchronize(2);
  Destroy(stream);
  hip.SetQueriesBehindSynchronize(0);
  EXPECT_EQ(Stats().parked_now, 1);
}

TEST_F(CreateStreamTest, AStreamThatNeverBecomesIdleIsDestroyed) {
  hipStream_t stream = Create({});
  hip.SetBusy(stream, /*for_ever=*/true);
  Destroy(stream);
  EXPECT_FALSE(hip.IsLive(stream));
  EXPECT_EQ(Stats().refused_error, 1);
}

TEST_F(CreateStreamTest, AStreamInACaptureIsDestroyedAndNeverParked) {
  for (hipStreamCaptureStatus status :
       {hipStreamCaptureStatusActive, hipStreamCaptureStatusInvalidated}) {
    hipStream_t stream = Create({});
    hip.SetCaptureStatus(stream, status);
    hip.ClearCalls();
    Destroy(stream);
    EXPECT_FALSE(hip.IsLive(stream));
    EXPECT_EQ(hip.Count("hipStreamQuery"), 0) << "would end the capture";
  }
  EXPECT_EQ(Stats().refused_capturing, 2);
  EXPECT_EQ(Stats().parked_now, 0);
}

TEST_F(CreateStreamTest, AStreamThatReadsAnotherKeyIsDestroyed) {
  hipStream_t flags = Create({});
  hip.SetReadsAs(flags, hipStreamNonBlocking, 0);
  Destroy(flags);
  hipStream_t priority = Create({});
  hip.SetReadsAs(priority, hipStreamDefault, 1);
  Destroy(priority);
  EXPECT_EQ(hip.LiveStreams(), 0);
  EXPECT_EQ(Stats().refused_key_mismatch, 2);
}

TEST_F(CreateStreamTest, AParkedStreamWithWorkIsNotLeasedUntilThatIsDone) {
  constexpr StreamKey kKey = {0, hipStreamNonBlocking};
  hipStream_t first = Create(kKey);
  hipStream_t second = Create(kKey);
  Destroy(first);
  Destroy(second);
  hip.SetBusy(first, /*for_ever=*/true);  // used after it was destroyed
  EXPECT_EQ(Create(kKey), second);
  hipStream_t third = Create(kKey);
  EXPECT_NE(third, first);
  EXPECT_EQ(hip.Count("hipStreamSynchronize"), 0) << "must not wait for it";
  EXPECT_TRUE(hip.IsLive(first));
  Destroy(third);
  hip.SetIdle(first);
  EXPECT_EQ(Create(kKey), first) << "at its old place";
  EXPECT_EQ(Stats().dropped_stale, 0);
}

TEST_F(CreateStreamTest, AParkedStreamThatIsBusyForAMomentIsLeased) {
  // By a hipDeviceSynchronize on another thread.
  hipStream_t stream = Parked();
  hip.SetLateQueries(stream, 3);
  EXPECT_EQ(Create({}), stream);
}

TEST_F(CreateStreamTest, BusyStreamsAreAskedOnceAndAFewOfThemAgain) {
  constexpr StreamKey kKey = {0, hipStreamNonBlocking};
  constexpr int kStreams = 32;
  std::vector<hipStream_t> streams;
  for (int i = 0; i < kStreams; ++i) streams.push_back(Create(kKey));
  for (hipStream_t stream : streams) {
    Destroy(stream);
    hip.SetBusy(stream, /*for_ever=*/true);
  }
  hip.ClearCalls();
  hipStream_t made = Create(kKey);
  EXPECT_TRUE(std::find(streams.begin(), streams.end(), made) == streams.end());
  EXPECT_EQ(hip.Count("hipStreamQuery"), kStreams + 10 * 4);
  EXPECT_EQ(Stats().parked_now, kStreams);
  hip.SetIdle(streams[20]);
  hip.ClearCalls();
  EXPECT_EQ(Create(kKey), streams[20]);
  EXPECT_EQ(hip.Count("hipStreamQuery"), 21);
  EXPECT_EQ(Stats().hits, 1);
  // The third in order becomes idle after all were asked.
  hip.SetIdle(streams[2]);
  hip.SetLateQueries(streams[2], 3);
  EXPECT_EQ(Create(kKey), streams[2]);
  EXPECT_EQ(Stats().parked_now, kStreams - 2);
}

TEST_F(CreateStreamTest, AParkedStreamThatDiedIsNotLeasedAndNotTouched) {
  hipStream_t dead = Parked();
  hip.DestroyElsewhere(dead);
  hip.ClearCalls();
  EXPECT_NE(Create({}), dead);
  EXPECT_EQ(hip.Count("hipStreamDestroy"), 0);
  EXPECT_EQ(Stats().dropped_stale, 1);
  EXPECT_EQ(Stats().abandoned, 0);
}

TEST_F(CreateStreamTest, AStreamDestroyedBehindThePoolsBackIsReported) {
  hipStream_t stream = Create({});
  hip.DestroyElsewhere(stream);
  hip.ClearCalls();
  EXPECT_THAT(DestroyStream(0, stream), IsFailedPrecondition());
  EXPECT_EQ(hip.Count("hipStreamDestroy"), 0);
  EXPECT_EQ(Stats().refused_error, 1);
  EXPECT_EQ(Stats().leased_now, 0);
}

TEST_F(CreateStreamTest, AfterAResetTheOldOwnersDestroyTakesNobodysStream) {
  hip.ReuseHandles();
  std::vector<hipStream_t> old;
  for (int i = 0; i < 3; ++i) old.push_back(Create({}));
  hip.ResetDevice(0);
  cache.Invalidate(0);
  std::vector<hipStream_t> owned;
  for (int i = 0; i < 3; ++i) owned.push_back(Create({}));
  for (hipStream_t stream : old) Destroy(stream);
  for (int i = 0; i < 6; ++i) owned.push_back(Create({}));
  for (hipStream_t stream : owned) EXPECT_TRUE(hip.IsLive(stream));
  std::sort(owned.begin(), owned.end());
  EXPECT_EQ(std::unique(owned.begin(), owned.end()), owned.end());
  EXPECT_EQ(Stats().leased_now, 9);
  for (hipStream_t stream : owned) Destroy(stream);
  EXPECT_EQ(hip.LiveStreams(), Stats().parked_now);
}

TEST_F(CreateStreamTest, AResetWithoutInvalidateLeavesAValueToItsNewOwner) {
  hip.ReuseHandles();
  hipStream_t old = Create({});
  hip.ResetDevice(0);
  hipStream_t owned = Create({});
  ASSERT_EQ(owned, old);
  EXPECT_EQ(Stats().dropped_stale, 1);
  EXPECT_EQ(Stats().leased_now, 1);
  Destroy(owned);
  EXPECT_EQ(Create({}), owned) << "nothing is held back";
  EXPECT_EQ(hip.LiveStreams(), 1);
}

// HIP gives the value of a stream of device 0 to one of device 1.
TEST_F(CreateStreamTest, AfterAResetTheOldOwnersDestroyTakesNoOtherDevices) {
  for (bool the_other_is_foreign : {false, true}) {
    StartOver();
    hip.ReuseHandles();
    hipStream_t old = Create({0});
    hip.ResetDevice(0);
    cache.Invalidate(0);
    hipStream_t other = Create({1});
    ASSERT_EQ(other, old);
    if (the_other_is_foreign) {
      cache.SetMaxParkedPerKey(0);
      Destroy(other, 1);
      other = hip.CreateElsewhere(1, 0, 0);
      ASSERT_EQ(other, old);
    }
    Destroy(old, 0);
    EXPECT_TRUE(hip.IsLive(other));
    Destroy(other, 1);
  }
}

TEST_F(CreateStreamTest, ResetsWhoseOwnersDestroyNothingCostNoMoreEachTime) {
  hip.ReuseHandles();
  for (int reset = 0; reset < 10; ++reset) {
    hip.ClearCalls();
    for (int i = 0; i < 4; ++i) Create({});
    EXPECT_LE(hip.Count("hipStreamCreateWithPriority"), 8);
    EXPECT_LE(hip.LiveStreams(), 8) << "4, and what is held back for 4";
    hip.ResetDevice(0);
    cache.Invalidate(0);
  }
}

TEST_F(CreateStreamTest, StreamsThatAreAlwaysDestroyedElsewhereDoNotPileUp) {
  hip.ReuseHandles();
  for (int i = 0; i < 400; ++i) {
    hipStream_t stream = Create({});
    EXPECT_EQ(hip.LiveStreams(), 1);
    hip.DestroyElsewhere(stream);
  }
  EXPECT_LE(Stats().leased_now, 1);
}

TEST_F(CreateStreamTest, ATrimEndsNoCapture) {
  hipStream_t captured = Parked();
  hip.SetCaptureStatus(captured, hipStreamCaptureStatusActive);
  hipStream_t idle = Create({});
  ASSERT_NE(idle, captured);
  Destroy(idle);
  EXPECT_THAT(cache.TrimAll(), IsFailedPrecondition());
  EXPECT_TRUE(hip.IsLive(captured));
  EXPECT_FALSE(hip.IsLive(idle));
  EXPECT_EQ(Stats().parked_now, 1);
  hip.SetCaptureStatus(captured, hipStreamCaptureStatusNone);
  EXPECT_EQ(Create({}), captured) << "its capture has ended";
}

// HIP 5: a query of a blocking stream waits for the null stream.
TEST_F(CreateStreamTest, OnHip5ABlockingStreamIsLeasedWithoutAQuery) {
  for (unsigned int flags : {hipStreamDefault, hipStreamNonBlocking}) {
    hipStream_t stream = Parked({0, flags});
    hip.ClearCalls();
    hip.SetBusy(stream);
    const bool may_query =
        flags == hipStreamNonBlocking || Version() >= HipVersion::k64;
    EXPECT_EQ(Create({0, flags}) == stream, !may_query);
    EXPECT_EQ(hip.Count("hipStreamQuery") != 0, may_query);
  }
}

TEST_F(CreateStreamTest, AParkedStreamThatIsCapturedOrGoneIsNotLeased) {
  for (bool is_gone : {false, true}) {
    hipStream_t stream = Parked();
    if (is_gone) {
      hip.DestroyElsewhere(stream);
    } else {
      hip.SetCaptureStatus(stream, hipStreamCaptureStatusActive);
    }
    EXPECT_NE(Create({}), stream);
  }
}

TEST_F(CreateStreamTest, ADeviceIsAskedOnceForItsPriorities) {
  hip.SetPriorityRange(0, 0);
  Pool pool(/*max_parked_per_key=*/32);
  Lease lease;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pool.Acquire({}, &lease).ok());
  EXPECT_EQ(hip.Count("hipDeviceGetStreamPriorityRange"), 1);
}

TEST_F(CreateStreamTest, TrimFreesWhatIsHeldBackToo) {
  hip.ReuseHandles();
  hipStream_t dead = Create({});
  hip.ResetDevice(0);
  cache.Invalidate(0);
  hipStream_t alive = Create({});
  EXPECT_EQ(hip.LiveStreams(), 2)
      << "one is held back for the dead one's owner";
  ASSERT_TRUE(cache.Trim(0).ok());
  EXPECT_EQ(hip.LiveStreams(), 1);
  EXPECT_TRUE(hip.IsLive(alive));
  EXPECT_TRUE(DestroyStream(0, dead).ok());
  EXPECT_TRUE(hip.IsLive(alive));
}

// HIP has memory for one more stream, and would give it a dead one's handle
// again and again.
TEST_F(CreateStreamTest, OutOfMemoryWithADeadOnesHandleEnds) {
  hip.ReuseHandles();
  Create({});
  hip.ResetDevice(0);
  cache.Invalidate(0);
  hip.Fail("hipStreamCreateWithPriority", hipErrorOutOfMemory, /*after=*/1,
           /*times=*/1);
  hip.During("hipStreamDestroy", [&] {
    hip.Fail("hipStreamCreateWithPriority", hipErrorOutOfMemory, /*after=*/1,
             ScriptedHip::kForever);
  });
  EXPECT_THAT(CreateStream({}).status(), IsResourceExhausted());
  EXPECT_EQ(hip.Count("hipStreamDestroy"), 1);
}

TEST_F(CreateStreamTest, ANewStreamWithADeadOnesHandleIsJustANewStream) {
  hip.ReuseHandles();
  hipStream_t parked = Parked();
  hip.ResetDevice(0);  // and nobody calls Invalidate
  hipStream_t urgent = Create({0, 0, -1});
  ASSERT_EQ(urgent, parked) << "HIP gave the same value again";
  EXPECT_EQ(Stats().dropped_stale, 1);
  EXPECT_EQ(Stats().parked_now, 0);
  EXPECT_NE(Create({}), urgent);
  Destroy(urgent);
  EXPECT_EQ(Create({0, 0, -1}), urgent);
}

TEST_F(CreateStreamTest, ANewStreamWithTheHandleOfADeadOneElsewhereIsAlone) {
  hip.ReuseHandles();
  hipStream_t parked = Parked({0, 0, 0});
  hip.ResetDevice(0);
  hipStream_t elsewhere = Create({1, 0, 0});
  ASSERT_EQ(elsewhere, parked) << "HIP gave the same value again";
  EXPECT_NE(Create({0, 0, 0}), elsewhere);
  EXPECT_EQ(Stats().dropped_stale, 1);
  Destroy(elsewhere, 1);
}

TEST_F(CreateStreamTest, OutOfMemoryFreesWhatIsParkedAndTriesOnceMore) {
  Parked({0, 0, -1});
  Parked({1, 0, 0});
  hip.Fail("hipStreamCreateWithPriority", hipErrorOutOfMemory);
  Create({});
  EXPECT_EQ(hip.LiveStreams(), 2) << "the new one and device 1's";
  EXPECT_EQ(Stats().parked_now, 1);
}

TEST_F(CreateStreamTest, OutOfMemoryTwiceIsResourceExhausted) {
  hip.Fail("hipStreamCreateWithPriority", hipErrorOutOfMemory, 0,
           ScriptedHip::kForever);
  hip.ClearCalls();
  absl::Status status = CreateStream({0, 1, -1}).status();
  EXPECT_THAT(status, IsResourceExhausted());
  EXPECT_EQ(hip.Count("hipStreamCreateWithPriority"), 2);
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("hipStreamCreateWithPriority"),
                    HasSubstr("device 0, flags 1, priority -1"),
                    HasSubstr("hipErrorOutOfMemory")));
  EXPECT_EQ(scripted_hip::LastError(), hipSuccess);
}

TEST_F(CreateStreamTest, AStreamThatCannotBeDestroyedIsAbandonedAndReported) {
  cache.SetMaxParkedPerKey(0);
  hipStream_t stream = Create({});
  hip.Fail("hipStreamDestroy", hipErrorLaunchFailure, 0, ScriptedHip::kForever);
  absl::Status status = DestroyStream(0, stream);
  EXPECT_THAT(status, IsInternal());
  EXPECT_THAT(Message(status), AllOf(HasSubstr("hipStreamDestroy"),
                                     HasSubstr("DestroyStream(device 0)"),
                                     HasSubstr("hipErrorLaunchFailure")));
  EXPECT_EQ(hip.Count("hipStreamDestroy"), 1);
  EXPECT_EQ(Stats().abandoned, 1);
  EXPECT_EQ(Stats().destroyed_total, 0);
  ASSERT_TRUE(cache.TrimAll().ok());
  EXPECT_EQ(hip.Count("hipStreamDestroy"), 1) << "never tried again";
}

TEST_F(CreateStreamTest, AStreamThatCannotBeCheckedIsDestroyed) {
  hipStream_t stream = Create({});
  hip.Fail("hipStreamIsCapturing", hipErrorLaunchFailure);
  EXPECT_THAT(DestroyStream(0, stream), IsInternal());
  EXPECT_FALSE(hip.IsLive(stream));
  EXPECT_EQ(Stats().refused_error, 1);
  EXPECT_EQ(Stats().leased_now, 0);
}

TEST_F(CreateStreamTest, IfTheCallersDeviceIsLostAStreamIsNot) {
  hip.Fail("hipSetDevice", hipErrorInvalidDevice, /*after=*/1);
  EXPECT_FALSE(CreateStream({}).ok());
  EXPECT_EQ(scripted_hip::CurrentDevice(), 0);
  scripted_hip::SetCurrentDevice(kCallersDevice);
  EXPECT_EQ(Stats().parked_now, 1);
  EXPECT_EQ(Stats().leased_now, 0);
  Create({});
  EXPECT_EQ(hip.LiveStreams(), 1);
}

TEST_F(CreateStreamTest, AGlobalCaptureElsewhereSurvives) {
  Parked();
  hip.SetGlobalCapture(true);
  for (int i = 0; i < 3; ++i) Destroy(Create({}));
  // HIP 5.7 does not say whether the stream is idle.
  EXPECT_EQ(Stats().hits, Version() == HipVersion::k57 ? 1 : 3);
  EXPECT_TRUE(hip.GlobalCaptureSurvived());
}

TEST_F(CreateStreamTest, WhereACaptureHidesTheAnswerNothingIsLeasedOrLost) {
  if (Version() != HipVersion::k57) GTEST_SKIP() << "HIP answers";
  constexpr StreamKey kKey = {0, hipStreamNonBlocking};
  hipStream_t parked = Parked(kKey);
  hip.SetGlobalCapture(true);
  hipStream_t made = Create(kKey);
  EXPECT_NE(made, parked) << "HIP did not say that it is idle";
  EXPECT_TRUE(hip.IsLive(parked));
  Destroy(made);
  EXPECT_FALSE(hip.IsLive(made)) << "HIP did not say that it is idle";
  hip.SetGlobalCapture(false);
  EXPECT_EQ(Create(kKey), parked);
  EXPECT_EQ(Stats().dropped_stale, 0);
}

TEST_F(CreateStreamTest, AParkedStreamThatSomeoneCapturesHoldsUpNoOther) {
  hipStream_t captured = Create({});
  hipStream_t other = Create({});
  Destroy(captured);
  Destroy(other);
  hip.SetCaptureStatus(captured, hipStreamCaptureStatusActive);
  EXPECT_EQ(Create({}), other);
  EXPECT_NE(Create({}), captured);
  EXPECT_TRUE(hip.IsLive(captured));
}

TEST_F(CreateStreamTest, LeavesNoErrorBehind) {
  hipStream_t busy = Create({});
  hip.SetBusy(busy);
  Destroy(busy);
  EXPECT_EQ(scripted_hip::LastError(), hipSuccess);
  hip.Fail("hipStreamCreateWithPriority", hipErrorLaunchFailure);
  EXPECT_FALSE(CreateStream({1, 0, 0}).ok());
  EXPECT_EQ(scripted_hip::LastError(), hipSuccess);
}

TEST_F(CreateStreamTest, LeavesTheCallersErrorWhereHipKeepsIt) {
  scripted_hip::SetLastError(hipErrorInvalidValue);
  hipStream_t busy = Create({});
  hip.SetBusy(busy);
  Destroy(busy);  // that a stream is busy is no error to be cleared
  Destroy(Create({}));
  EXPECT_EQ(scripted_hip::LastError(),
            Version() == HipVersion::k72 ? hipErrorInvalidValue : hipSuccess);
}

TEST_F(CreateStreamTest, AStreamWithAParkedOnesHandleIsToldFromIt) {
  if (Version() < HipVersion::k72) GTEST_SKIP() << "HIP has no identities";
  hip.ReuseHandles();
  hipStream_t parked = Parked();
  hip.ResetDevice(0);
  hipStream_t foreign = hip.CreateElsewhere(0, 0, 0);
  ASSERT_EQ(foreign, parked) << "HIP gave the same value again";
  EXPECT_NE(Create({}), foreign);
  EXPECT_TRUE(hip.IsLive(foreign));
  EXPECT_EQ(Stats().dropped_stale, 1);
}

TEST_F(CreateStreamTest, AChangedSynchronizationPolicyDoesNotStay) {
  if (Version() < HipVersion::k72) GTEST_SKIP() << "HIP has no attributes";
  constexpr int kSynchronizationPolicy = 3;
  constexpr int kAuto = 1;
  const int spin = kAuto + 1;
  hipStream_t stream = Create({});
  ASSERT_EQ(KnownHip()->functions.hipStreamSetAttribute.call(
                stream, kSynchronizationPolicy, &spin),
            hipSuccess);
  Destroy(stream);
  EXPECT_EQ(hip.Look(stream).sync_policy, kAuto);
  EXPECT_EQ(Create({}), stream);
}

TEST_F(CreateStreamTest, AStreamWhosePolicyCannotBeResetIsDestroyed) {
  if (Version() < HipVersion::k72) GTEST_SKIP() << "HIP has no attributes";
  hipStream_t stream = Create({});
  hip.Fail("hipStreamGetAttribute", hipErrorLaunchFailure);
  EXPECT_THAT(DestroyStream(0, stream), IsInternal());
  EXPECT_FALSE(hip.IsLive(stream));
  EXPECT_EQ(Stats().refused_error, 1);
}

TEST_F(CreateStreamTest, ASecondDestroyOfADestroyedStreamTouchesNothing) {
  cache.SetMaxParkedPerKey(0);
  hipStream_t stream = Parked();
  EXPECT_THAT(DestroyStream(0, stream), IsFailedPrecondition());
}

TEST_F(CreateStreamTest, AForeignStreamOfAnotherDeviceIsRefused) {
  hipStream_t foreign = hip.CreateElsewhere(1, 0, 0);
  EXPECT_THAT(DestroyStream(0, foreign), IsInvalidArgument());
  EXPECT_TRUE(hip.IsLive(foreign));
  Destroy(foreign, 1);
  EXPECT_FALSE(hip.IsLive(foreign));
}

}  // namespace
}  // namespace hip_stream_pool
