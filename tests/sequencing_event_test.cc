// SPDX-License-Identifier: Apache-2.0
//
// SequencingEvent over the scripted HIP.
#include "hip_stream_pool/sequencing_event.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "hip_stream_pool/tracked_buffer.h"
#include "pool_test.h"
#include "sequencing_testing.h"

namespace hip_stream_pool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

static_assert(!std::is_copy_constructible_v<SequencingEvent>);
static_assert(!std::is_default_constructible_v<SequencingEvent>);

class SequencingEventTest : public SequencingTest {};

// Once.

TEST_F(SequencingEventTest, ASecondRecordIsRefusedAndTheFirstStands) {
  RocmStream first = MakeStream();
  RocmStream second = MakeStream();
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(event->RecordOn(first).ok());
  hip.SetBusy(first.handle());
  hip.ClearCalls();
  EXPECT_THAT(event->RecordOn(second), IsFailedPrecondition());
  EXPECT_THAT(event->SetError(kError), IsFailedPrecondition());
  EXPECT_THAT(hip.Calls(), IsEmpty());
  EXPECT_EQ(event->TryIsComplete(), false) << "it is the first stream's";
  EXPECT_TRUE(event->WaitOn(second).ok());
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 1);
}

TEST_F(SequencingEventTest, NothingFollowsAnErrorThatWasSet) {
  RocmStream stream = MakeStream();
  auto event = SequencingEvent::Create();
  EXPECT_THAT(event->SetError(absl::OkStatus()), IsInvalidArgument());
  EXPECT_EQ(event->TryIsComplete(), std::nullopt);
  ASSERT_TRUE(event->SetError(kError).ok());
  hip.ClearCalls();
  EXPECT_THAT(event->RecordOn(stream), IsFailedPrecondition());
  EXPECT_THAT(event->SetError(absl::InternalError("another")),
              IsFailedPrecondition());
  EXPECT_EQ(event->WaitOn(stream), kError);
  EXPECT_EQ(event->BlockHostUntilComplete(), kError);
  EXPECT_EQ(event->TryIsComplete(), true);
  EXPECT_THAT(hip.Calls(), IsEmpty());
}

TEST_F(SequencingEventTest, OfManyThreadsThatRecordOrFailItOneSucceeds) {
  const RocmStream stream = MakeStream();
  for (int round = 0; round < 50; ++round) {
    auto event = SequencingEvent::Create();
    std::atomic<int> callbacks{0};
    std::atomic<int> succeeded{0};
    event->AndThen([&](const absl::Status&) { ++callbacks; });
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        if ((t % 2 == 0 ? event->RecordOn(stream) : event->SetError(kError))
                .ok()) {
          ++succeeded;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(succeeded, 1);
    EXPECT_EQ(callbacks, 1);
  }
}

// Whether it is done, without blocking.

TEST_F(SequencingEventTest, UnknownBusyAndCompleteAreThreeAnswers) {
  RocmStream stream = MakeStream();
  hip.SetBusy(stream.handle());
  auto event = SequencingEvent::Create();
  hip.ClearCalls();
  EXPECT_EQ(event->TryIsComplete(), std::nullopt);
  EXPECT_THAT(hip.Calls(), IsEmpty());
  ASSERT_TRUE(event->RecordOn(stream).ok());
  EXPECT_EQ(event->TryIsComplete(), false);
  hip.SetIdle(stream.handle());
  EXPECT_EQ(event->TryIsComplete(), true);
  hip.SetBusy(stream.handle());  // with later work
  hip.ClearCalls();
  EXPECT_EQ(event->TryIsComplete(), true);
  EXPECT_THAT(hip.Calls(), IsEmpty()) << "HIP has said so before";
}

TEST_F(SequencingEventTest, TryAnswersWhileTheWorkerThatIsToRecordIsStuck) {
  const RocmStream stream = MakeStream();
  auto event = SequencingEvent::Create();
  HeldCall held("hipEventRecord");
  std::future<absl::Status> recorded =
      std::async(std::launch::async, [&] { return event->RecordOn(stream); });
  held.AwaitCall();
  std::future<std::optional<bool>> answer =
      std::async(std::launch::async, [&] { return event->TryIsComplete(); });
  EXPECT_TRUE(IsReadySoon(answer));
  held.LetGo();
  EXPECT_TRUE(recorded.get().ok());
  EXPECT_EQ(answer.get(), std::nullopt);
  EXPECT_EQ(event->TryIsComplete(), true);
}

// Waiting.

TEST_F(SequencingEventTest, AWaiterWaitsForTheRecordAndNotForTheWork) {
  const RocmStream producer = MakeStream({1, 0, 0});
  const RocmStream consumer = MakeStream({0, 0, 0});
  hip.SetBusy(producer.handle(), /*for_ever=*/true);
  auto event = SequencingEvent::Create();
  std::future<absl::Status> waited =
      std::async(std::launch::async, [&] { return event->WaitOn(consumer); });
  EXPECT_FALSE(IsReadyAlready(waited));
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 0);
  ASSERT_TRUE(event->RecordOn(producer).ok());
  EXPECT_TRUE(IsReadySoon(waited));
  EXPECT_TRUE(waited.get().ok());
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 1);
  EXPECT_EQ(hip.Count("hipStreamSynchronize"), 0);
  hip.SetIdle(producer.handle());
}

TEST_F(SequencingEventTest, ManyWaitersOnManyThreadsAllWait) {
  const RocmStream producer = MakeStream();
  hip.SetBusy(producer.handle());
  std::vector<RocmStream> consumers;
  for (int i = 0; i < 8; ++i)
    consumers.push_back(MakeStream({i % kDevices, 0, 0}));
  auto event = SequencingEvent::Create();
  std::vector<std::future<absl::Status>> waits;
  for (const RocmStream& consumer : consumers) {
    waits.push_back(std::async(std::launch::async,
                               [&] { return event->WaitOn(consumer); }));
  }
  ASSERT_TRUE(event->RecordOn(producer).ok());
  for (std::future<absl::Status>& wait : waits) EXPECT_TRUE(wait.get().ok());
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 8);
  EXPECT_EQ(hip.Count("hipEventRecord"), 1);
}

TEST_F(SequencingEventTest, OnTheProducersLeaseAWaitMakesNoHipCall) {
  RocmStream producer = MakeStream();
  hip.SetBusy(producer.handle());
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(event->RecordOn(producer).ok());
  hip.ClearCalls();
  EXPECT_TRUE(event->WaitOn(producer).ok());
  const RocmStream moved = std::move(producer);
  EXPECT_TRUE(event->WaitOn(moved).ok());
  EXPECT_THAT(hip.Calls(), IsEmpty());
}

TEST_F(SequencingEventTest, ForWorkThatIsDoneNoWaitIsEnqueued) {
  const RocmStream producer = MakeStream({0, 0, 0});
  const RocmStream consumer = MakeStream({1, 0, 0});
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(event->RecordOn(producer).ok());
  hip.ClearCalls();
  EXPECT_TRUE(event->WaitOn(consumer).ok());
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 0);
  EXPECT_EQ(hip.Count("hipEventQuery"), 1);
  hip.ClearCalls();
  EXPECT_TRUE(event->WaitOn(consumer).ok());
  EXPECT_TRUE(event->BlockHostUntilComplete().ok());
  EXPECT_THAT(hip.Calls(), IsEmpty()) << "that is known now";
}

// From its stream's release on, HIP would look at a stream that is another's by
// then, or none any more.
TEST_F(SequencingEventTest, NothingIsAskedAboutAStreamThatWasGivenBack) {
  for (const bool destroyed : {false, true}) {
    RocmStream producer = MakeStream();
    const hipStream_t handle = producer.handle();
    auto event = SequencingEvent::Create();
    ASSERT_TRUE(event->RecordOn(producer).ok());
    auto waited_for = SequencingEvent::Create();
    ASSERT_TRUE(waited_for->RecordOn(producer).ok());
    auto tried = SequencingEvent::Create();
    ASSERT_TRUE(tried->RecordOn(producer).ok());
    ASSERT_TRUE(producer.Release().ok());
    if (destroyed) {
      ASSERT_TRUE(cache.TrimAll().ok());
    }
    const RocmStream next = MakeStream();
    ASSERT_EQ(next.handle() == handle, !destroyed);
    hip.SetCaptureStatus(next.handle(), hipStreamCaptureStatusActive);
    hip.ClearCalls();
    EXPECT_TRUE(event->WaitOn(next).ok());
    EXPECT_TRUE(waited_for->BlockHostUntilComplete().ok());
    EXPECT_EQ(tried->TryIsComplete(), true);
    EXPECT_THAT(hip.Calls(), IsEmpty());
    hip.SetCaptureStatus(next.handle(), hipStreamCaptureStatusNone);
  }
}

TEST_F(SequencingEventTest, WhatTheReleaseHeardOfTheWorkReachesWhoeverWaits) {
  RocmStream producer = MakeStream();
  const RocmStream consumer = MakeStream();
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(event->RecordOn(producer).ok());
  hip.Fail("hipStreamQuery", hipErrorLaunchFailure);
  const absl::Status released = producer.Release();
  EXPECT_THAT(released, IsInternal());
  EXPECT_EQ(event->TryIsComplete(), true);
  EXPECT_EQ(event->WaitOn(consumer), released);
  EXPECT_EQ(event->BlockHostUntilComplete(), released);
}

TEST_F(SequencingEventTest, AReleaseOfABusyStreamHoldsUpNobodyElse) {
  RocmStream producer = MakeStream();
  const RocmStream consumer = MakeStream();
  hip.SetBusy(producer.handle());
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(event->RecordOn(producer).ok());
  HeldCall held("hipStreamSynchronize");
  std::future<absl::Status> released =
      std::async(std::launch::async, [&] { return producer.Release(); });
  held.AwaitCall();
  EXPECT_EQ(event->TryIsComplete(), false);
  std::future<absl::Status> waited =
      std::async(std::launch::async, [&] { return event->WaitOn(consumer); });
  EXPECT_TRUE(IsReadySoon(waited));
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 1);
  std::future<absl::Status> blocked = std::async(
      std::launch::async, [&] { return event->BlockHostUntilComplete(); });
  EXPECT_FALSE(IsReadyAlready(blocked));
  held.LetGo();
  EXPECT_TRUE(released.get().ok());
  EXPECT_TRUE(waited.get().ok());
  EXPECT_TRUE(blocked.get().ok());
}

TEST_F(SequencingEventTest, AReleaseWaitsForWhoeverAsksAboutTheStream) {
  for (const char* call : {"hipEventQuery", "hipStreamWaitEvent"}) {
    RocmStream producer = MakeStream();
    const RocmStream consumer = MakeStream();
    hip.ClearCalls();
    const int64_t parked = Stats().parked_now;
    hip.SetBusy(producer.handle());
    auto event = SequencingEvent::Create();
    ASSERT_TRUE(event->RecordOn(producer).ok());
    HeldCall held(call);
    std::future<absl::Status> waited =
        std::async(std::launch::async, [&] { return event->WaitOn(consumer); });
    held.AwaitCall();
    std::future<absl::Status> released =
        std::async(std::launch::async, [&] { return producer.Release(); });
    while (hip.Count("hipStreamSynchronize") == 0) std::this_thread::yield();
    EXPECT_FALSE(IsReadyAlready(released));
    EXPECT_EQ(Stats().parked_now, parked) << "another could have it by now";
    EXPECT_EQ(event->TryIsComplete(), false);
    held.LetGo();
    EXPECT_TRUE(waited.get().ok());
    EXPECT_TRUE(released.get().ok());
    EXPECT_EQ(Stats().parked_now, parked + 1);
  }
}

TEST_F(SequencingEventTest, WhatTheReleaseHeardBeforeItsHooksIsTheEventsError) {
  RocmStream producer = MakeStream();
  const RocmStream consumer = MakeStream();
  producer.OnRelease([](hipStream_t) {});
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(event->RecordOn(producer).ok());
  hip.Fail("hipStreamSynchronize", hipErrorLaunchFailure);
  const absl::Status released = producer.Release();
  EXPECT_THAT(released, IsInternal());
  EXPECT_EQ(event->WaitOn(consumer), released);
}

TEST_F(SequencingEventTest, AReleaseInACaptureIsNoErrorOfTheEvent) {
  RocmStream producer = MakeStream();
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(event->RecordOn(producer).ok());
  hip.SetCaptureStatus(producer.handle(), hipStreamCaptureStatusActive);
  EXPECT_TRUE(producer.Release().ok());
  EXPECT_TRUE(event->BlockHostUntilComplete().ok());
}

TEST_F(SequencingEventTest, AResetFailsTheEventsThatWereNotComplete) {
  RocmStream producer = MakeStream();
  const RocmStream consumer = MakeStream({1, 0, 0});
  auto done = SequencingEvent::Create();
  ASSERT_TRUE(done->RecordOn(producer).ok());
  EXPECT_EQ(done->TryIsComplete(), true);
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(event->RecordOn(producer).ok());
  auto later = SequencingEvent::Create();
  ASSERT_TRUE(later->RecordOn(producer).ok());
  hip.ResetDevice(0);
  cache.Invalidate(0);
  hip.ClearCalls();
  EXPECT_EQ(event->TryIsComplete(), true);
  EXPECT_THAT(event->WaitOn(consumer), IsFailedPrecondition());
  EXPECT_THAT(event->BlockHostUntilComplete(), IsFailedPrecondition());
  EXPECT_TRUE(done->WaitOn(consumer).ok());
  EXPECT_THAT(hip.Calls(), IsEmpty());
  EXPECT_TRUE(producer.Release().ok());
  EXPECT_THAT(later->WaitOn(consumer), IsFailedPrecondition())
      << "nobody knows whether its work was done by then";
}

TEST_F(SequencingEventTest, AnEventThatIsNotRecordedBeforeAResetCanBeAfterIt) {
  const RocmStream old = MakeStream();
  auto event = SequencingEvent::Create();
  auto on_the_old_stream = SequencingEvent::Create();
  hip.ResetDevice(0);
  cache.Invalidate(0);
  EXPECT_EQ(event->TryIsComplete(), std::nullopt);
  const RocmStream producer = MakeStream();
  hip.SetBusy(producer.handle());
  EXPECT_TRUE(event->RecordOn(producer).ok());
  EXPECT_TRUE(event->WaitOn(MakeStream({1, 0, 0})).ok());
  hip.ClearCalls();
  EXPECT_THAT(on_the_old_stream->RecordOn(old), IsFailedPrecondition());
  EXPECT_THAT(event->WaitOn(old), IsFailedPrecondition());
  EXPECT_EQ(hip.Count("hipEventRecord"), 0) << "HIP 5.2 crashes";
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 0);
  EXPECT_THAT(on_the_old_stream->WaitOn(producer), IsFailedPrecondition());
}

TEST_F(SequencingEventTest, AProducerThatWasDestroyedElsewhereFailsItsEvents) {
  RocmStream producer = MakeStream();
  const RocmStream consumer = MakeStream({1, 0, 0});
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(event->RecordOn(producer).ok());
  auto later = SequencingEvent::Create();
  hip.DestroyElsewhere(producer.handle());
  hip.ClearCalls();
  EXPECT_EQ(event->TryIsComplete(), true);
  EXPECT_THAT(event->WaitOn(consumer), IsFailedPrecondition());
  EXPECT_THAT(later->RecordOn(producer), IsFailedPrecondition());
  EXPECT_EQ(hip.Count("hipEventQuery"), 0) << "HIP looks at the stream";
  EXPECT_EQ(hip.Count("hipEventRecord"), 0);
}

TEST_F(SequencingEventTest, TheDefaultStreamsEventIsNoOtherCapturesMatter) {
  const RocmStream null = *RocmStream::Borrow(0, nullptr);
  const RocmStream capturing = MakeStream();
  const RocmStream consumer = MakeStream({0, hipStreamNonBlocking, 0});
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(event->RecordOn(null).ok());
  hip.SetCaptureStatus(capturing.handle(), hipStreamCaptureStatusActive);
  EXPECT_TRUE(event->WaitOn(consumer).ok());
  EXPECT_TRUE(event->BlockHostUntilComplete().ok());
  EXPECT_EQ(event->TryIsComplete(), true);
  hip.SetCaptureStatus(capturing.handle(), hipStreamCaptureStatusNone);
}

// Whatever is asked about a stream that is no longer the producer's, or in its
// next user's capture, is a fault of the scripted HIP.
TEST_F(SequencingEventTest, ManyThreadsAskNothingAboutAnothersStream) {
  constexpr int kRounds = 300;
  std::mutex mutex;
  auto latest = SequencingEvent::Create();
  std::atomic<int> producers{2};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        RocmStream producer = MakeStream();
        if (i % 2 == t) hip.SetBusy(producer.handle());
        auto event = SequencingEvent::Create();
        EXPECT_TRUE(event->RecordOn(producer).ok());
        {
          std::lock_guard<std::mutex> lock(mutex);
          latest = event;
        }
        std::this_thread::yield();
        EXPECT_TRUE(producer.Release().ok());
        const RocmStream next = MakeStream();
        hip.SetCaptureStatus(next.handle(), hipStreamCaptureStatusActive);
        std::this_thread::yield();
        hip.SetCaptureStatus(next.handle(), hipStreamCaptureStatusNone);
        if (i % 16 == 0) {
          EXPECT_TRUE(cache.TrimAll().ok());
        }
      }
      --producers;
    });
    threads.emplace_back([&, t] {
      const RocmStream consumer = MakeStream({0, 1, 0});
      while (producers != 0) {
        std::shared_ptr<SequencingEvent> event;
        {
          std::lock_guard<std::mutex> lock(mutex);
          event = latest;
        }
        if (!event->TryIsComplete().has_value()) continue;
        const absl::Status status =
            t == 0 ? event->WaitOn(consumer) : event->BlockHostUntilComplete();
        EXPECT_TRUE(status.ok()) << status;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// From HIP 6.2 on, a question about the event would end the capture.
TEST_F(SequencingEventTest, ACaptureThatTheProducerIsInByNowIsLeftAlone) {
  const RocmStream producer = MakeStream();
  const RocmStream consumer = MakeStream();
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(event->RecordOn(producer).ok());
  hip.SetCaptureStatus(producer.handle(), hipStreamCaptureStatusActive);
  EXPECT_EQ(event->TryIsComplete(), false);
  EXPECT_THAT(event->WaitOn(consumer), IsFailedPrecondition());
  EXPECT_THAT(event->BlockHostUntilComplete(), IsFailedPrecondition());
  EXPECT_EQ(hip.Count("hipEventQuery") + hip.Count("hipStreamWaitEvent"), 0);
  hip.SetCaptureStatus(producer.handle(), hipStreamCaptureStatusNone);
  EXPECT_TRUE(event->WaitOn(consumer).ok());
  EXPECT_EQ(event->TryIsComplete(), true);
}

TEST_F(SequencingEventTest, TheDefaultStreamCanRecordAndWait) {
  const RocmStream null = *RocmStream::Borrow(0, nullptr);
  const RocmStream stream = MakeStream();
  auto of_null = SequencingEvent::Create();
  auto of_stream = SequencingEvent::Create();
  hip.SetBusy(stream.handle());
  ASSERT_TRUE(of_null->RecordOn(null).ok());
  ASSERT_TRUE(of_stream->RecordOn(stream).ok());
  EXPECT_TRUE(of_null->WaitOn(stream).ok());
  EXPECT_TRUE(of_stream->WaitOn(null).ok());
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 1);
}

TEST_F(SequencingEventTest, AStreamThatOwnsNothingIsRefused) {
  RocmStream released = MakeStream();
  ASSERT_TRUE(released.Release().ok());
  auto event = SequencingEvent::Create();
  EXPECT_THAT(event->WaitOn(released), IsFailedPrecondition())
      << "at once, though the event is not recorded";
  EXPECT_THAT(event->RecordOn(released), IsFailedPrecondition());
  EXPECT_THAT(event->WaitOn(MakeStream()), IsFailedPrecondition());
}

TEST_F(SequencingEventTest, BlockingWaitsForTheRecordAndTheWork) {
  const RocmStream producer = MakeStream({1, 0, 0});
  hip.SetBusy(producer.handle());
  auto event = SequencingEvent::Create();
  std::future<absl::Status> blocked = std::async(
      std::launch::async, [&] { return event->BlockHostUntilComplete(); });
  EXPECT_FALSE(IsReadyAlready(blocked));
  ASSERT_TRUE(event->RecordOn(producer).ok());
  EXPECT_FALSE(IsReadyAlready(blocked));
  hip.SetIdle(producer.handle());
  EXPECT_TRUE(blocked.get().ok());
  EXPECT_EQ(event->TryIsComplete(), true);
}

// Errors.

TEST_F(SequencingEventTest, AnErrorReachesEveryWaiterAndEveryCallbackOnce) {
  const RocmStream stream = MakeStream();
  auto event = SequencingEvent::Create();
  std::vector<absl::Status> heard;
  for (int i = 0; i < 3; ++i) {
    event->AndThen(
        [&](const absl::Status& status) { heard.push_back(status); });
  }
  std::vector<std::future<absl::Status>> waits;
  for (int i = 0; i < 4; ++i) {
    waits.push_back(std::async(std::launch::async, [&, i] {
      return i % 2 == 0 ? event->WaitOn(stream)
                        : event->BlockHostUntilComplete();
    }));
  }
  hip.ClearCalls();
  ASSERT_TRUE(event->SetError(kError).ok());
  for (std::future<absl::Status>& wait : waits) EXPECT_EQ(wait.get(), kError);
  EXPECT_THAT(heard, ElementsAre(kError, kError, kError));
  EXPECT_THAT(hip.Calls(), IsEmpty());
}

TEST_F(SequencingEventTest, WhenThePromiseIsDroppedWhoeverWaitsHearsOfIt) {
  const RocmStream stream = MakeStream();
  const TrackedBuffer buffer(memory_, sizeof(memory_));
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(buffer.SetProducerEvent(event).ok());
  const std::shared_ptr<SequencingEvent> seen =
      buffer.DefinitionEvent(/*null_if_past=*/true);
  absl::Status heard;
  seen->AndThen([&](const absl::Status& status) { heard = status; });
  std::vector<std::future<absl::Status>> waits;
  waits.push_back(std::async(std::launch::async,
                             [&] { return buffer.WaitUntilDefined(stream); }));
  waits.push_back(
      std::async(std::launch::async, [&] { return seen->WaitOn(stream); }));
  auto copy = event;
  event.reset();
  EXPECT_FALSE(IsReadyAlready(waits[0]));
  EXPECT_EQ(seen->TryIsComplete(), std::nullopt);
  copy.reset();
  for (std::future<absl::Status>& wait : waits) {
    EXPECT_THAT(wait.get(), IsCancelled());
  }
  EXPECT_THAT(heard, IsCancelled());
  EXPECT_THAT(seen->RecordOn(stream), IsFailedPrecondition());
}

TEST_F(SequencingEventTest, AnEventThatIsRecordedOutlivesItsPromise) {
  const RocmStream stream = MakeStream();
  const RocmStream consumer = MakeStream();
  const TrackedBuffer buffer(memory_, sizeof(memory_));
  hip.SetBusy(stream.handle());
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(buffer.SetProducerEvent(event).ok());
  ASSERT_TRUE(event->RecordOn(stream).ok());
  event.reset();
  EXPECT_TRUE(buffer.WaitUntilDefined(consumer).ok());
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 1);
}

TEST_F(SequencingEventTest, WhenTheRecordFailsSoDoesTheEvent) {
  const RocmStream stream = MakeStream();
  for (const char* call : {"hipEventCreateWithFlags", "hipEventRecord",
                           "hipStreamIsCapturing", "hipSetDevice"}) {
    SCOPED_TRACE(call);
    auto event = SequencingEvent::Create();
    std::vector<absl::Status> heard;
    event->AndThen(
        [&](const absl::Status& status) { heard.push_back(status); });
    hip.Fail(call, hipErrorUnknown);
    const absl::Status recorded = event->RecordOn(stream);
    EXPECT_THAT(recorded, IsInternal());
    EXPECT_THAT(std::string(recorded.message()), HasSubstr(call));
    EXPECT_THAT(heard, ElementsAre(recorded));
    EXPECT_EQ(event->WaitOn(stream), recorded);
    EXPECT_THAT(event->RecordOn(stream), IsFailedPrecondition());
    EXPECT_EQ(hip.LiveEvents(), 0);
  }
}

TEST_F(SequencingEventTest, WorkThatFailsIsReportedToWhoeverAsksThen) {
  const RocmStream stream = MakeStream();
  const RocmStream consumer = MakeStream();
  for (const bool by_query : {true, false}) {
    auto event = SequencingEvent::Create();
    ASSERT_TRUE(event->RecordOn(stream).ok());
    hip.Fail("hipEventQuery", hipErrorLaunchFailure);
    if (by_query) {
      EXPECT_EQ(event->TryIsComplete(), true);
    } else {
      EXPECT_THAT(event->BlockHostUntilComplete(), IsInternal());
    }
    hip.FailNothing();
    EXPECT_THAT(event->WaitOn(consumer), IsInternal());
    EXPECT_THAT(event->WaitOn(stream), IsInternal());
    EXPECT_THAT(event->BlockHostUntilComplete(), IsInternal());
    absl::Status heard;
    event->AndThen([&](const absl::Status& status) { heard = status; });
    EXPECT_THAT(heard, IsInternal());
    EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 0);
  }
}

// Callbacks.

TEST_F(SequencingEventTest, CallbacksRunInOrderWhenTheEventIsRecorded) {
  const RocmStream stream = MakeStream();
  hip.SetBusy(stream.handle());
  auto event = SequencingEvent::Create();
  std::vector<std::string> heard;
  event->AndThen([&](const absl::Status& status) {
    heard.push_back("first " + status.ToString());
  });
  event->AndThen([&](const absl::Status& status) {
    heard.push_back("second " + status.ToString());
  });
  event->AndThen(nullptr);
  EXPECT_THAT(heard, IsEmpty());
  ASSERT_TRUE(event->RecordOn(stream).ok());
  EXPECT_THAT(heard, ElementsAre("first OK", "second OK"));
  event->AndThen([&](const absl::Status& status) {
    heard.push_back("at once " + status.ToString());
  });
  event->AndThen(nullptr);
  EXPECT_THAT(heard, ElementsAre("first OK", "second OK", "at once OK"));
}

TEST_F(SequencingEventTest, ACallbackMayUseItsEvent) {
  const RocmStream stream = MakeStream();
  const RocmStream consumer = MakeStream();
  auto event = SequencingEvent::Create();
  int ran = 0;
  event->AndThen([&, use = event.get()](const absl::Status&) {
    // A lock that is held here has this thread wait for itself.
    EXPECT_EQ(use->TryIsComplete(), true);
    EXPECT_TRUE(use->WaitOn(consumer).ok());
    EXPECT_TRUE(use->BlockHostUntilComplete().ok());
    EXPECT_THAT(use->RecordOn(stream), IsFailedPrecondition());
    use->AndThen([&](const absl::Status&) { ++ran; });
    ++ran;
  });
  ASSERT_TRUE(event->RecordOn(stream).ok());
  EXPECT_EQ(ran, 2);
}

TEST_F(SequencingEventTest, AWaiterDoesNotWaitForTheCallbacks) {
  const RocmStream stream = MakeStream();
  auto event = SequencingEvent::Create();
  std::future<absl::Status> waited =
      std::async(std::launch::async, [&] { return event->WaitOn(stream); });
  event->AndThen([&](const absl::Status&) {
    EXPECT_TRUE(IsReadySoon(waited)) << "it needs this callback's thread";
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_TRUE(event->RecordOn(stream).ok());
  EXPECT_TRUE(waited.get().ok());
}

TEST_F(SequencingEventTest, ACallbackMayDropTheLastReference) {
  const RocmStream stream = MakeStream();
  for (const bool record : {true, false}) {
    std::vector<int> ran;
    auto last = SequencingEvent::Create();
    SequencingEvent* const event = last.get();
    event->AndThen([&](const absl::Status&) {
      last.reset();
      ran.push_back(1);
    });
    event->AndThen([&](const absl::Status&) { ran.push_back(2); });
    EXPECT_TRUE(
        (record ? event->RecordOn(stream) : event->SetError(kError)).ok());
    EXPECT_EQ(last, nullptr);
    EXPECT_THAT(ran, ElementsAre(1, 2));

    last = SequencingEvent::Create();
    ASSERT_TRUE(last->RecordOn(stream).ok());
    last->AndThen([&](const absl::Status&) { last.reset(); });
    EXPECT_EQ(last, nullptr);
  }
}

// Captures.

TEST_F(SequencingEventTest, ACapturingStreamIsNeitherRecordedNorMadeToWait) {
  const RocmStream capturing = MakeStream();
  const RocmStream stream = MakeStream();
  hip.SetBusy(stream.handle());
  hip.SetCaptureStatus(capturing.handle(), hipStreamCaptureStatusActive);
  auto of_capture = SequencingEvent::Create();
  auto of_stream = SequencingEvent::Create();
  ASSERT_TRUE(of_stream->RecordOn(stream).ok());
  hip.ClearCalls();
  EXPECT_THAT(of_capture->RecordOn(capturing), IsFailedPrecondition());
  EXPECT_THAT(of_capture->WaitOn(stream), IsFailedPrecondition());
  EXPECT_THAT(of_stream->WaitOn(capturing), IsFailedPrecondition());
  EXPECT_EQ(hip.Count("hipEventRecord"), 0);
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 0);
  hip.SetIdle(stream.handle());
  EXPECT_TRUE(of_stream->WaitOn(capturing).ok()) << "there is nothing to wait";
  EXPECT_TRUE(hip.GlobalCaptureSurvived());
}

TEST_F(SequencingEventTest, ACaptureElsewhereIsNoHindranceAndSurvives) {
  const RocmStream producer = MakeStream();
  const RocmStream consumer = MakeStream();
  hip.SetGlobalCapture(true);
  hip.SetBusy(producer.handle());
  auto event = SequencingEvent::Create();
  EXPECT_TRUE(event->RecordOn(producer).ok());
  EXPECT_EQ(event->TryIsComplete(), false);
  EXPECT_TRUE(event->WaitOn(consumer).ok());
  int queries = 0;
  hip.During("hipEventQuery", [&] {
    if (++queries == 3) hip.SetIdle(producer.handle());
  });
  EXPECT_TRUE(event->BlockHostUntilComplete().ok());
  EXPECT_EQ(queries, 3);
  EXPECT_EQ(event->TryIsComplete(), true);
  EXPECT_TRUE(hip.GlobalCaptureSurvived());
  hip.SetGlobalCapture(false);
  hip.During("hipEventQuery", nullptr);
}

TEST_F(SequencingEventTest, WhatHipDoesNotAnswerIsNotTheWorksError) {
  const RocmStream producer = MakeStream();
  const RocmStream consumer = MakeStream();
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(event->RecordOn(producer).ok());
  hip.Fail("hipEventQuery", hipErrorStreamCaptureUnsupported, 0,
           scripted_hip::ScriptedHip::kForever);
  EXPECT_EQ(event->TryIsComplete(), false);
  EXPECT_TRUE(event->WaitOn(consumer).ok());
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 1) << "to be safe";
  EXPECT_THAT(event->BlockHostUntilComplete(), IsFailedPrecondition());
  hip.FailNothing();
  EXPECT_TRUE(event->BlockHostUntilComplete().ok());
}

// The pool of events.

TEST_F(SequencingEventTest, InTheSteadyStateNoEventIsCreatedOrDestroyed) {
  std::vector<RocmStream> streams;
  for (int device = 0; device < kDevices; ++device) {
    streams.push_back(MakeStream({device, 0, 0}));
    hip.SetBusy(streams.back().handle());
  }
  const auto cycle = [&] {
    for (int device = 0; device < kDevices; ++device) {
      auto a = SequencingEvent::Create();
      auto b = SequencingEvent::Create();
      ASSERT_TRUE(a->RecordOn(streams[device]).ok());
      ASSERT_TRUE(b->RecordOn(streams[device]).ok());
      ASSERT_TRUE(a->WaitOn(streams[(device + 1) % kDevices]).ok());
    }
  };
  cycle();
  EXPECT_EQ(hip.LiveEvents(), 2 * kDevices);
  hip.ClearCalls();
  for (int i = 0; i < 100; ++i) cycle();
  EXPECT_EQ(hip.Count("hipEventCreateWithFlags"), 0);
  EXPECT_EQ(hip.Count("hipEventDestroy"), 0);
  EXPECT_EQ(hip.Count("hipEventRecord"), 100 * 2 * kDevices);
}

TEST_F(SequencingEventTest, AnEventGoesBackWithoutAHipCall) {
  const RocmStream stream = MakeStream();
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(event->RecordOn(stream).ok());
  hip.ClearCalls();
  event.reset();
  EXPECT_THAT(hip.Calls(), IsEmpty());
}

TEST_F(SequencingEventTest, TrimDestroysWhatIsParkedAndNothingElse) {
  const RocmStream stream = MakeStream();
  const RocmStream consumer = MakeStream();
  auto used = SequencingEvent::Create();
  auto dropped = SequencingEvent::Create();
  ASSERT_TRUE(used->RecordOn(stream).ok());
  ASSERT_TRUE(dropped->RecordOn(stream).ok());
  dropped.reset();
  EXPECT_TRUE(cache.TrimAll().ok());
  EXPECT_EQ(hip.LiveEvents(), 1);
  hip.SetBusy(stream.handle());
  EXPECT_TRUE(used->WaitOn(consumer).ok());
  used.reset();
  EXPECT_TRUE(cache.Trim(0).ok());
  EXPECT_EQ(hip.LiveEvents(), 0);
}

// HIP keeps its events when a device is reset.
TEST_F(SequencingEventTest, AsManyEventsAreMadeAsAreInUseAtOnceResetsOrNot) {
  for (int reset = 0; reset < 10; ++reset) {
    const RocmStream stream = MakeStream();
    for (int round = 0; round < 2; ++round) {
      std::vector<std::shared_ptr<SequencingEvent>> events;
      for (int i = 0; i < 3; ++i) {
        events.push_back(SequencingEvent::Create());
        ASSERT_TRUE(events.back()->RecordOn(stream).ok());
      }
      if (round == 0) continue;
      hip.ResetDevice(0);
      cache.Invalidate(0);
    }
  }
  EXPECT_EQ(hip.Count("hipEventCreateWithFlags"), 3);
  EXPECT_EQ(hip.LiveEvents(), 3);
  ASSERT_TRUE(cache.TrimAll().ok());
  EXPECT_EQ(hip.LiveEvents(), 0);
}

// A thread that is cancelled while it waits leaves no pointer to its stack.
// Where there are no exceptions, pthread_cancel runs no destructor.
#ifdef __cpp_exceptions
TEST_F(SequencingEventTest, AWaiterThatIsCancelledIsForgotten) {
  const RocmStream producer = MakeStream();
  const RocmStream consumer = MakeStream({1, 0, 0});
  auto event = SequencingEvent::Create();
  std::atomic<bool> waits{false};
  std::thread waiter([&] {
    waits = true;
    (void)event->WaitOn(consumer);
    ADD_FAILURE() << "it was not cancelled";
  });
  while (!waits) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_EQ(pthread_cancel(waiter.native_handle()), 0);
  waiter.join();
  EXPECT_TRUE(event->RecordOn(producer).ok());
  EXPECT_TRUE(event->WaitOn(consumer).ok());
}
#endif

TEST_F(SequencingEventTest, NoHipCallIsMadeWithTheEventsLockHeld) {
  RocmStream producer = MakeStream();
  const RocmStream consumer = MakeStream({1, 0, 0});
  const TrackedBuffer buffer(memory_, sizeof(memory_));
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(buffer.SetProducerEvent(event).ok());
  hip.SetLockProbe([this, event, buffer] {
    TakeEveryLock();
    event->AndThen([](const absl::Status&) {});
    (void)buffer.DefinitionEvent(/*null_if_past=*/false);
  });
  hip.SetBusy(producer.handle());
  ASSERT_TRUE(event->RecordOn(producer).ok());
  EXPECT_EQ(event->TryIsComplete(), false);
  EXPECT_NE(buffer.DefinitionEvent(/*null_if_past=*/true), nullptr);
  EXPECT_TRUE(buffer.WaitUntilDefined(consumer).ok());
  hip.SetIdle(producer.handle());
  EXPECT_TRUE(event->BlockHostUntilComplete().ok());
  EXPECT_THAT(hip.Faults(), IsEmpty());
}

}  // namespace
}  // namespace hip_stream_pool
