// SPDX-License-Identifier: Apache-2.0
//
// RocmStream over the scripted HIP.
#include "hip_stream_pool/rocm_stream.h"

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "pool_test.h"

namespace hip_stream_pool {
namespace {

using scripted_hip::HipVersion;
using scripted_hip::Version;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

static_assert(!std::is_copy_constructible_v<RocmStream>);
static_assert(!std::is_copy_assignable_v<RocmStream>);
static_assert(std::is_nothrow_move_constructible_v<RocmStream>);
static_assert(std::is_nothrow_move_assignable_v<RocmStream>);

class RocmStreamTest : public PoolTest {
 protected:
  RocmStream Borrow(int device, hipStream_t external) {
    absl::StatusOr<RocmStream> stream = RocmStream::Borrow(device, external);
    EXPECT_TRUE(stream.ok()) << stream.status();
    return *std::move(stream);
  }
};

TEST_F(RocmStreamTest, GivesItsStreamBackWhenItIsDestroyed) {
  hipStream_t handle;
  {
    RocmStream stream = MakeStream({1, hipStreamNonBlocking, -1});
    handle = stream.handle();
    EXPECT_EQ(stream.device_ordinal(), 1);
    EXPECT_FALSE(stream.is_borrowed());
    EXPECT_EQ(Stats().leased_now, 1);
  }
  EXPECT_EQ(Stats().leased_now, 0);
  EXPECT_EQ(Stats().parked_now, 1);
  EXPECT_EQ(MakeStream({1, hipStreamNonBlocking, -1}).handle(), handle);
}

TEST_F(RocmStreamTest, CreateReportsWhatThePoolSays) {
  EXPECT_THAT(RocmStream::Create({0, 9, 0}).status(), IsInvalidArgument());
}

TEST_F(RocmStreamTest, EveryLeaseOfAHandleHasItsOwnId) {
  RocmStream first = MakeStream();
  const uint64_t id = first.id();
  const hipStream_t handle = first.handle();
  ASSERT_TRUE(first.Release().ok());
  RocmStream second = MakeStream();
  EXPECT_EQ(second.handle(), handle);
  EXPECT_NE(second.id(), id);
  EXPECT_NE(second.id(), 0u);
  EXPECT_EQ(first.id(), 0u);
}

TEST_F(RocmStreamTest, AMovedFromStreamOwnsNothing) {
  RocmStream from = MakeStream();
  const hipStream_t handle = from.handle();
  const uint64_t id = from.id();
  RocmStream to = std::move(from);
  EXPECT_EQ(to.handle(), handle);
  EXPECT_EQ(to.id(), id);
  // NOLINTBEGIN(bugprone-use-after-move): what is left of it is tested.
  EXPECT_EQ(from.handle(), nullptr);
  EXPECT_EQ(from.id(), 0u);
  hip.ClearCalls();
  EXPECT_THAT(from.IsIdle().status(), IsFailedPrecondition());
  EXPECT_THAT(from.BlockHostUntilDone(), IsFailedPrecondition());
  EXPECT_THAT(from.RecordEvent(nullptr), IsFailedPrecondition());
  EXPECT_THAT(from.WaitFor(hipEvent_t{}), IsFailedPrecondition());
  EXPECT_THAT(from.WaitFor(to), IsFailedPrecondition());
  EXPECT_THAT(to.WaitFor(from), IsFailedPrecondition());
  EXPECT_THAT(from.DoHostCallback([] {}), IsFailedPrecondition());
  EXPECT_THAT(from.Release(), IsFailedPrecondition());
  EXPECT_THAT(hip.Calls(), IsEmpty());
  // NOLINTEND(bugprone-use-after-move)
}

TEST_F(RocmStreamTest, AssigningToALiveStreamGivesThatOneBack) {
  RocmStream a = MakeStream();
  RocmStream b = MakeStream();
  const hipStream_t handle_b = b.handle();
  a = std::move(b);
  EXPECT_EQ(a.handle(), handle_b);
  EXPECT_EQ(Stats().parked_now, 1);
  EXPECT_EQ(Stats().leased_now, 1);
}

TEST_F(RocmStreamTest, AssigningAStreamToItselfChangesNothing) {
  RocmStream stream = MakeStream();
  const hipStream_t handle = stream.handle();
  RocmStream& alias = stream;
  stream = std::move(alias);
  EXPECT_EQ(stream.handle(), handle);
  EXPECT_EQ(Stats().leased_now, 1);
}

TEST_F(RocmStreamTest, ABorrowedStreamIsNeverDestroyedParkedOrWaitedFor) {
  hipStream_t external = hip.CreateElsewhere(1, 0, 0);
  hip.SetBusy(external, /*for_ever=*/true);
  {
    RocmStream stream = Borrow(1, external);
    EXPECT_TRUE(stream.is_borrowed());
    EXPECT_EQ(stream.handle(), external);
    EXPECT_NE(stream.id(), 0u);
    stream.OnRelease([](hipStream_t) {});
  }
  EXPECT_TRUE(hip.IsLive(external));
  EXPECT_EQ(hip.Count("hipStreamSynchronize"), 0);
  EXPECT_EQ(Stats().parked_now, 0);
}

TEST_F(RocmStreamTest, NullCanBeBorrowedAndIsTheDefaultStream) {
  RocmStream stream = Borrow(0, nullptr);
  EXPECT_EQ(stream.handle(), nullptr);
  EXPECT_TRUE(stream.is_borrowed());
  EXPECT_TRUE(*stream.IsIdle());
  EXPECT_TRUE(stream.BlockHostUntilDone().ok());
  EXPECT_EQ(hip.Count("hipStreamSynchronize"), 1);
  EXPECT_TRUE(stream.Release().ok());
}

TEST_F(RocmStreamTest, BorrowingOnADeviceThatDoesNotExistIsRefused) {
  EXPECT_THAT(RocmStream::Borrow(-1, nullptr).status(), IsInvalidArgument());
  EXPECT_THAT(RocmStream::Borrow(kDevices, nullptr).status(),
              IsInvalidArgument());
}

TEST_F(RocmStreamTest, BorrowingWhatHipKnowsToBeWrongIsRefused) {
  hipStream_t external = hip.CreateElsewhere(1, 0, 0);
  if (Version() >= HipVersion::k57) {
    EXPECT_THAT(RocmStream::Borrow(0, external).status(), IsInvalidArgument());
  }
  hip.DestroyElsewhere(external);
  EXPECT_THAT(RocmStream::Borrow(1, external).status(), IsFailedPrecondition());
  EXPECT_THAT(RocmStream::Borrow(0, reinterpret_cast<hipStream_t>(1)).status(),
              IsInvalidArgument());
  EXPECT_THAT(RocmStream::Borrow(0, hipStreamPerThread).status(),
              IsInvalidArgument())
      << "it is another stream on each thread";
}

// The pool has forgotten the stream by then, and leases its handle again.
TEST_F(RocmStreamTest, AnOwnerOfLongAgoGivesBackNobodysStream) {
  for (const bool of_the_pool : {true, false}) {
    StartOver();
    hip.ReuseHandles();
    RocmStream old = MakeStream();
    for (int i = 0; i < 2; ++i) {
      hip.ResetDevice(0);
      cache.Invalidate(0);
    }
    std::optional<RocmStream> now;
    hipStream_t handle = nullptr;
    if (of_the_pool) {
      now = MakeStream();
      handle = now->handle();
    } else {
      handle = hip.CreateElsewhere(0, 0, 0);
    }
    ASSERT_EQ(old.handle(), handle) << "HIP gave the same value again";
    EXPECT_TRUE(old.Release().ok());
    EXPECT_TRUE(hip.IsLive(handle));
    EXPECT_NE(MakeStream().handle(), handle);
    if (!of_the_pool) hip.DestroyElsewhere(handle);
  }
}

TEST_F(RocmStreamTest, IsIdleNeverWaits) {
  RocmStream stream = MakeStream();
  EXPECT_TRUE(*stream.IsIdle());
  hip.SetBusy(stream.handle());
  EXPECT_FALSE(*stream.IsIdle());
  EXPECT_EQ(hip.Count("hipStreamSynchronize"), 0);
  ASSERT_TRUE(stream.BlockHostUntilDone().ok());
  EXPECT_TRUE(*stream.IsIdle());
}

TEST_F(RocmStreamTest, NeitherIsIdleNorBlockingEndsTheStreamsOwnCapture) {
  RocmStream stream = MakeStream();
  hip.SetCaptureStatus(stream.handle(), hipStreamCaptureStatusActive);
  EXPECT_THAT(stream.IsIdle().status(), IsFailedPrecondition());
  EXPECT_THAT(stream.BlockHostUntilDone(), IsFailedPrecondition());
  EXPECT_TRUE(hip.GlobalCaptureSurvived());
}

TEST_F(RocmStreamTest, EventsAreRecordedAndWaitedForOnTheStreamsDevice) {
  scripted_hip::SetCurrentDevice(1);
  hipEvent_t event = nullptr;
  ASSERT_EQ(hipEventCreateWithFlags(&event, 0), hipSuccess);
  scripted_hip::SetCurrentDevice(kCallersDevice);
  RocmStream producer = MakeStream({1, 0, 0});
  RocmStream consumer = MakeStream({0, 0, 0});
  EXPECT_TRUE(producer.RecordEvent(event).ok());
  EXPECT_TRUE(consumer.WaitFor(event).ok());
  EXPECT_FALSE(consumer.RecordEvent(event).ok()) << "another device's event";
}

TEST_F(RocmStreamTest, WaitingForAnotherStreamUsesAPooledEvent) {
  RocmStream producer = MakeStream({1, 0, 0});
  RocmStream consumer = MakeStream({0, 0, 0});
  hip.ClearCalls();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(consumer.WaitFor(producer).ok());
  }
  EXPECT_EQ(hip.Count("hipEventCreateWithFlags"), 1);
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 3);
  EXPECT_EQ(hip.LiveEvents(), 1);
}

TEST_F(RocmStreamTest, AnEventThatACaptureKnowsIsNeitherDestroyedNorReused) {
  RocmStream producer = MakeStream({0, 0, 0});
  RocmStream consumer = MakeStream({0, 0, 0});
  hip.SetCaptureStatus(producer.handle(), hipStreamCaptureStatusActive);
  EXPECT_TRUE(consumer.WaitFor(producer).ok());
  EXPECT_TRUE(cache.Trim(0).ok());
  EXPECT_EQ(hip.LiveEvents(), 1);
  hip.SetCaptureStatus(producer.handle(), hipStreamCaptureStatusNone);
  EXPECT_TRUE(producer.WaitFor(consumer).ok());
  EXPECT_EQ(hip.Count("hipEventCreateWithFlags"), 2);
}

TEST_F(RocmStreamTest, ACaptureIsNotMadeToWaitForWhatIsOutsideOfIt) {
  RocmStream producer = MakeStream({0, 0, 0});
  RocmStream consumer = MakeStream({0, 0, 0});
  hip.SetCaptureStatus(consumer.handle(), hipStreamCaptureStatusActive);
  EXPECT_THAT(consumer.WaitFor(producer), IsFailedPrecondition());
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 0);
  hip.SetCaptureStatus(producer.handle(), hipStreamCaptureStatusActive);
  EXPECT_TRUE(consumer.WaitFor(producer).ok()) << "both are in one";
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 1);
}

TEST_F(RocmStreamTest, EmptyCallbacksAndHooksDoNothing) {
  RocmStream stream = MakeStream();
  EXPECT_THAT(stream.DoHostCallback(nullptr), IsInvalidArgument());
  stream.OnRelease(nullptr);
  EXPECT_TRUE(stream.Release().ok());
}

TEST_F(RocmStreamTest, WaitingForItselfMakesNoHipCall) {
  RocmStream stream = MakeStream();
  hip.ClearCalls();
  EXPECT_TRUE(stream.WaitFor(stream).ok());
  EXPECT_THAT(hip.Calls(), IsEmpty());
}

TEST_F(RocmStreamTest, AHostCallbackRunsOnce) {
  RocmStream stream = MakeStream();
  int runs = 0;
  ASSERT_TRUE(stream.DoHostCallback([&] { ++runs; }).ok());
  EXPECT_EQ(runs, 0);
  hip.RunHostCallbacks();
  hip.RunHostCallbacks();
  EXPECT_EQ(runs, 1);
}

TEST_F(RocmStreamTest, AHostCallbackThatCannotBeEnqueuedIsDropped) {
  RocmStream stream = MakeStream();
  auto held = std::make_shared<int>(0);
  hip.Fail("hipStreamAddCallback", hipErrorLaunchFailure);
  hip.Fail("hipLaunchHostFunc", hipErrorLaunchFailure);
  EXPECT_THAT(stream.DoHostCallback([held] { ++*held; }), IsInternal());
  hip.RunHostCallbacks();
  EXPECT_EQ(*held, 0);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(RocmStreamTest, AHostCallbackInACaptureIsRefused) {
  RocmStream stream = MakeStream();
  hip.SetCaptureStatus(stream.handle(), hipStreamCaptureStatusActive);
  hip.ClearCalls();
  EXPECT_THAT(stream.DoHostCallback([] {}), IsFailedPrecondition());
  EXPECT_EQ(hip.Count("hipStreamAddCallback"), 0);
  EXPECT_EQ(hip.Count("hipLaunchHostFunc"), 0);
}

TEST_F(RocmStreamTest, HooksRunOnceTheWorkIsDoneAndBeforeTheHandleIsParked) {
  std::vector<std::string> events;
  RocmStream stream = MakeStream();
  const hipStream_t handle = stream.handle();
  hip.SetBusy(handle);
  stream.OnRelease([&](hipStream_t given) {
    EXPECT_EQ(given, handle);
    EXPECT_EQ(hip.Count("hipStreamSynchronize"), 1);
    EXPECT_EQ(Stats().parked_now, 0);
    EXPECT_THAT(hip.Faults(), IsEmpty());
    events.push_back("added first");
  });
  stream.OnRelease([&](hipStream_t) { events.push_back("added last"); });
  ASSERT_TRUE(stream.Release().ok());
  EXPECT_THAT(events, ElementsAre("added last", "added first"));
  EXPECT_EQ(Stats().parked_now, 1);
}

TEST_F(RocmStreamTest, HooksMayCreateAndReleaseStreams) {
  RocmStream stream = MakeStream();
  const hipStream_t handle = stream.handle();
  stream.OnRelease([&](hipStream_t) {
    RocmStream other = MakeStream();
    EXPECT_NE(other.handle(), handle);
    EXPECT_TRUE(cache.TrimAll().ok());
  });
  ASSERT_TRUE(stream.Release().ok());
  EXPECT_EQ(Stats().parked_now, 2);
}

#ifdef __cpp_exceptions
TEST_F(RocmStreamTest, AHookThatThrowsLosesNothing) {
  RocmStream stream = MakeStream();
  int ran = 0;
  stream.OnRelease([&](hipStream_t) { ++ran; });
  stream.OnRelease([](hipStream_t) { throw std::runtime_error("hook"); });
  EXPECT_THROW((void)stream.Release(), std::runtime_error);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(Stats().parked_now, 1);
  EXPECT_EQ(Stats().leased_now, 0);
  EXPECT_EQ(stream.id(), 0u);
}
#endif

TEST_F(RocmStreamTest, HooksGoWithTheStreamWhenItIsMoved) {
  int ran = 0;
  RocmStream from = MakeStream();
  from.OnRelease([&](hipStream_t) { ++ran; });
  RocmStream to = std::move(from);
  from.OnRelease([&](hipStream_t) { ran += 100; });  // owns nothing: dropped
  from = MakeStream();
  ASSERT_TRUE(from.Release().ok());
  EXPECT_EQ(ran, 0);
  ASSERT_TRUE(to.Release().ok());
  EXPECT_EQ(ran, 1);
}

TEST_F(RocmStreamTest, ReleaseReportsWorkThatFailed) {
  RocmStream stream = MakeStream();
  hip.SetBusy(stream.handle());
  hip.Fail("hipStreamSynchronize", hipErrorLaunchFailure);
  absl::Status released = stream.Release();
  EXPECT_THAT(released, IsInternal());
  EXPECT_THAT(std::string(released.message()),
              ::testing::HasSubstr("hipStreamSynchronize"));
  EXPECT_EQ(hip.LiveStreams(), 0);
  EXPECT_EQ(Stats().refused_error, 1);
}

TEST_F(RocmStreamTest, ReleaseReportsAFailedWaitAndGivesTheHandleBack) {
  RocmStream stream = MakeStream();
  int ran = 0;
  stream.OnRelease([&](hipStream_t) { ++ran; });
  hip.Fail("hipStreamSynchronize", hipErrorLaunchFailure);
  EXPECT_THAT(stream.Release(), IsInternal());
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(Stats().leased_now, 0);
}

// Each call, of a stream that is gone.
void ExpectFailedPrecondition(const RocmStream& gone, const RocmStream& other) {
  EXPECT_THAT(gone.IsIdle().status(), IsFailedPrecondition());
  EXPECT_THAT(gone.BlockHostUntilDone(), IsFailedPrecondition());
  EXPECT_THAT(gone.RecordEvent(nullptr), IsFailedPrecondition());
  EXPECT_THAT(gone.WaitFor(nullptr), IsFailedPrecondition());
  EXPECT_THAT(gone.WaitFor(other), IsFailedPrecondition());
  EXPECT_THAT(other.WaitFor(gone), IsFailedPrecondition());
  EXPECT_THAT(gone.DoHostCallback([] { FAIL(); }), IsFailedPrecondition());
}

TEST_F(RocmStreamTest, AStreamThatIsGoneIsAFailedPreconditionEverywhere) {
  for (bool reset : {false, true}) {
    StartOver();
    RocmStream other = MakeStream({1});
    RocmStream gone = MakeStream();
    if (reset) {
      hip.ResetDevice(0);
      cache.Invalidate(0);
    } else {
      hip.DestroyElsewhere(gone.handle());
    }
    hip.ClearCalls();
    ExpectFailedPrecondition(gone, other);
    EXPECT_EQ(hip.Count("hipEventRecord"), 1)
        << "on the other; HIP 5.2 crashes for one that is gone";
    EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 0);
    EXPECT_EQ(
        gone.Release().code(),
        reset ? absl::StatusCode::kOk : absl::StatusCode::kFailedPrecondition);
  }
}

TEST_F(RocmStreamTest, AfterAResetHooksRunWithoutTheHandle) {
  hip.ReuseHandles();
  RocmStream stream = MakeStream();
  const hipStream_t handle = stream.handle();
  std::vector<hipStream_t> seen;
  stream.OnRelease([&](hipStream_t given) { seen.push_back(given); });
  hip.ResetDevice(0);
  cache.Invalidate(0);
  RocmStream of_another_device = MakeStream({1});
  ASSERT_EQ(of_another_device.handle(), handle) << "it is another's now";
  hip.SetBusy(handle);
  EXPECT_TRUE(stream.Release().ok());
  EXPECT_THAT(seen, ElementsAre(nullptr));
  EXPECT_TRUE(hip.Look(handle).busy) << "nobody has waited for it";
}

}  // namespace
}  // namespace hip_stream_pool
