// SPDX-License-Identifier: Apache-2.0
//
// TrackedBuffer over the scripted HIP.
#include "hip_stream_pool/tracked_buffer.h"

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hip_stream_pool/sequencing_event.h"
#include "pool_test.h"
#include "sequencing_testing.h"

namespace hip_stream_pool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TrackedBufferTest : public SequencingTest {
 protected:
  std::string StreamCallNames() const {
    std::string names;
    for (const scripted_hip::Call& call : hip.Calls()) {
      if (call.name == "hipMemcpyAsync" || call.name == "hipEventRecord" ||
          call.name == "hipStreamWaitEvent") {
        names += call.name.substr(3) + " ";
      }
    }
    return names;
  }

  TrackedBuffer buffer_{memory_, sizeof(memory_)};
  char host_[64] = {};
};

TEST_F(TrackedBufferTest, WithoutAProducerEventItIsDefined) {
  RocmStream consumer = MakeStream();
  hip.ClearCalls();
  EXPECT_EQ(buffer_.data(), memory_);
  EXPECT_EQ(buffer_.size(), sizeof(memory_));
  EXPECT_EQ(buffer_.DefinitionEvent(/*null_if_past=*/false), nullptr);
  EXPECT_EQ(buffer_.DefinitionEvent(/*null_if_past=*/true), nullptr);
  EXPECT_TRUE(buffer_.WaitUntilDefined(consumer).ok());
  EXPECT_THAT(hip.Calls(), IsEmpty());
}

// Slices.

TEST_F(TrackedBufferTest, SlicesAndCopiesSeeTheBasesProducerEvent) {
  const TrackedBuffer slice = *buffer_.Slice(8, 16);
  const TrackedBuffer of_slice = *slice.Slice(4, 4);
  const TrackedBuffer copy = buffer_;  // NOLINT: the copy is the point
  EXPECT_EQ(of_slice.data(), memory_ + 12);
  EXPECT_EQ(of_slice.size(), 4u);
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(buffer_.SetProducerEvent(event).ok());
  for (const TrackedBuffer& view :
       {slice, of_slice, copy, *of_slice.Slice(0, 0), *copy.Slice(64, 0)}) {
    EXPECT_EQ(view.DefinitionEvent(/*null_if_past=*/false), event);
    EXPECT_THAT(view.SetProducerEvent(SequencingEvent::Create()),
                IsFailedPrecondition());
  }
}

TEST_F(TrackedBufferTest, SlicesAndCopiesSetTheBasesProducerEvent) {
  for (int way = 0; way < 3; ++way) {
    TrackedBuffer base(memory_, sizeof(memory_));
    const TrackedBuffer slice = *base.Slice(8, 16);
    const TrackedBuffer view = way == 0   ? slice
                               : way == 1 ? *slice.Slice(1, 1)
                                          : TrackedBuffer(base);
    auto event = SequencingEvent::Create();
    ASSERT_TRUE(view.SetProducerEvent(event).ok());
    EXPECT_EQ(base.DefinitionEvent(/*null_if_past=*/false), event);
    EXPECT_EQ(slice.DefinitionEvent(/*null_if_past=*/false), event);
    EXPECT_THAT(base.SetProducerEvent(event), IsFailedPrecondition());
  }
}

TEST_F(TrackedBufferTest, ASliceOutlivesItsBase) {
  auto base = std::make_unique<TrackedBuffer>(memory_, sizeof(memory_));
  const TrackedBuffer slice = *base->Slice(1, 2);
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(base->SetProducerEvent(event).ok());
  base.reset();
  EXPECT_EQ(slice.DefinitionEvent(/*null_if_past=*/false), event);
}

TEST_F(TrackedBufferTest, SlicesOutOfRangeAreRefused) {
  constexpr size_t kMost = SIZE_MAX;
  for (auto [offset, size] :
       std::vector<std::pair<size_t, size_t>>{{0, 65},
                                              {1, 64},
                                              {64, 1},
                                              {65, 0},
                                              {kMost, 0},
                                              {0, kMost},
                                              {kMost, 1},
                                              {1, kMost},
                                              {32, kMost - 16},
                                              {kMost - 16, 32},
                                              {kMost, kMost}}) {
    EXPECT_THAT(buffer_.Slice(offset, size).status(), IsInvalidArgument())
        << offset << " " << size;
  }
  const TrackedBuffer slice = *buffer_.Slice(32, 16);
  EXPECT_THAT(slice.Slice(0, 17).status(), IsInvalidArgument())
      << "which the base has";
  EXPECT_TRUE(buffer_.Slice(64, 0).ok());
  EXPECT_EQ(TrackedBuffer(nullptr, 8).Slice(4, 4)->data(), nullptr);
}

// The producer event.

TEST_F(TrackedBufferTest, ASecondProducerEventIsRefusedAndTheFirstStands) {
  auto first = SequencingEvent::Create();
  EXPECT_THAT(buffer_.SetProducerEvent(nullptr), IsInvalidArgument());
  ASSERT_TRUE(buffer_.SetProducerEvent(first).ok());
  EXPECT_THAT(buffer_.SetProducerEvent(SequencingEvent::Create()),
              IsFailedPrecondition());
  EXPECT_THAT(buffer_.SetProducerEvent(first), IsFailedPrecondition());
  EXPECT_EQ(buffer_.DefinitionEvent(/*null_if_past=*/false), first);
}

TEST_F(TrackedBufferTest, OnlyWhatIsDoneAndDidNotFailIsPast) {
  RocmStream producer = MakeStream();
  hip.SetBusy(producer.handle());
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(buffer_.SetProducerEvent(event).ok());
  EXPECT_EQ(buffer_.DefinitionEvent(/*null_if_past=*/true), event);
  ASSERT_TRUE(event->RecordOn(producer).ok());
  EXPECT_EQ(buffer_.DefinitionEvent(/*null_if_past=*/true), event);
  hip.SetIdle(producer.handle());
  EXPECT_EQ(buffer_.DefinitionEvent(/*null_if_past=*/true), nullptr);
  EXPECT_EQ(buffer_.DefinitionEvent(/*null_if_past=*/false), event);

  TrackedBuffer failed(memory_, 1);
  auto failing = SequencingEvent::Create();
  ASSERT_TRUE(failed.SetProducerEvent(failing).ok());
  ASSERT_TRUE(failing->SetError(kError).ok());
  failing.reset();
  ASSERT_NE(failed.DefinitionEvent(/*null_if_past=*/true), nullptr);
  EXPECT_EQ(failed.DefinitionEvent(/*null_if_past=*/true)->WaitOn(producer),
            kError);
}

TEST_F(TrackedBufferTest, AConsumerMayAskBeforeTheCopyIsEnqueued) {
  const RocmStream h2d = MakeStream({1, 0, 0});
  const RocmStream consumer = MakeStream({0, 0, 0});
  // Before there is anything, the producer announces itself.
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(buffer_.SetProducerEvent(event).ok());
  std::future<absl::Status> defined = std::async(
      std::launch::async, [&] { return buffer_.WaitUntilDefined(consumer); });
  EXPECT_FALSE(IsReadyAlready(defined));
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 0);
  hip.SetBusy(h2d.handle());
  ASSERT_TRUE(event->RecordOn(h2d).ok());
  EXPECT_TRUE(defined.get().ok());
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 1);
}

// Copies.

TEST_F(TrackedBufferTest, TheProducerEventIsThereWhenTheCopyIsEnqueued) {
  const RocmStream h2d = MakeStream({0, 0, 0});
  const RocmStream consumer = MakeStream({0, 0, 0});
  hip.SetBusy(h2d.handle());
  HeldCall held("hipMemcpyAsync");
  auto copied = std::async(std::launch::async, [&] {
    return CopyHostToDevice(buffer_, host_, sizeof(host_), h2d);
  });
  held.AwaitCall();
  // On another thread, in between.
  auto seen = std::async(std::launch::async, [&] {
    return buffer_.DefinitionEvent(/*null_if_past=*/true);
  });
  std::future<absl::Status> defined = std::async(
      std::launch::async, [&] { return buffer_.WaitUntilDefined(consumer); });
  EXPECT_TRUE(IsReadySoon(seen));
  EXPECT_FALSE(IsReadyAlready(defined));
  held.LetGo();
  absl::StatusOr<std::shared_ptr<SequencingEvent>> event = copied.get();
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(seen.get(), *event);
  EXPECT_TRUE(defined.get().ok());
  EXPECT_EQ(StreamCallNames(), "MemcpyAsync EventRecord StreamWaitEvent ");
}

TEST_F(TrackedBufferTest, ACopyDoesNotBlockTheHost) {
  const RocmStream h2d = MakeStream();
  hip.SetBusy(h2d.handle(), /*for_ever=*/true);
  hip.ClearCalls();
  ASSERT_TRUE(CopyHostToDevice(buffer_, host_, 1, h2d).ok());
  EXPECT_EQ(hip.Count("hipStreamSynchronize"), 0);
  hip.SetIdle(h2d.handle());
}

TEST_F(TrackedBufferTest, ACopyThatIsRefusedEnqueuesNothing) {
  const RocmStream stream = MakeStream();
  RocmStream released = MakeStream();
  ASSERT_TRUE(released.Release().ok());
  const TrackedBuffer null(nullptr, 64);
  hip.ClearCalls();
  const auto h2d = [&](const TrackedBuffer& to, const void* from, size_t size,
                       const RocmStream& on) {
    return CopyHostToDevice(to, from, size, on).status();
  };
  EXPECT_THAT(h2d(buffer_, host_, 1, released), IsFailedPrecondition());
  EXPECT_THAT(h2d(null, host_, 1, stream), IsInvalidArgument());
  EXPECT_THAT(h2d(buffer_, nullptr, 1, stream), IsInvalidArgument());
  EXPECT_THAT(h2d(buffer_, host_, 65, stream), IsInvalidArgument());
  const auto d2d = [&](const TrackedBuffer& to, const TrackedBuffer& from,
                       size_t size) {
    return CopyDeviceToDevice(to, from, size, stream).status();
  };
  const TrackedBuffer other(host_, 32);
  EXPECT_THAT(d2d(buffer_, other, 33), IsInvalidArgument());
  EXPECT_THAT(d2d(other, buffer_, 33), IsInvalidArgument());
  EXPECT_THAT(d2d(buffer_, null, 1), IsInvalidArgument());
  EXPECT_THAT(d2d(*buffer_.Slice(0, 8), *buffer_.Slice(8, 8), 8),
              IsInvalidArgument())
      << "it would wait for itself";
  EXPECT_EQ(buffer_.DefinitionEvent(/*null_if_past=*/false), nullptr)
      << "it can still be written";
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(buffer_.SetProducerEvent(event).ok());
  EXPECT_THAT(h2d(buffer_, host_, 1, stream), IsFailedPrecondition());
  EXPECT_EQ(event->TryIsComplete(), std::nullopt) << "that one is not harmed";
  EXPECT_THAT(hip.Calls(), IsEmpty());
}

TEST_F(TrackedBufferTest, WhenTheCopyFailsWhoeverWaitsHearsOfIt) {
  const RocmStream h2d = MakeStream();
  const RocmStream consumer = MakeStream();
  hip.Fail("hipMemcpyAsync", hipErrorLaunchFailure);
  const absl::Status copied = CopyHostToDevice(buffer_, host_, 1, h2d).status();
  EXPECT_THAT(copied, IsInternal());
  EXPECT_THAT(std::string(copied.message()), HasSubstr("hipMemcpyAsync"));
  EXPECT_EQ(buffer_.WaitUntilDefined(consumer), copied);
  EXPECT_EQ(hip.Count("hipEventRecord"), 0);

  // And so does a copy of the copy.
  const TrackedBuffer next(host_, sizeof(host_));
  EXPECT_EQ(CopyDeviceToDevice(next, buffer_, 1, consumer).status(), copied);
  EXPECT_EQ(next.WaitUntilDefined(h2d), copied);
  EXPECT_EQ(hip.Count("hipMemcpyAsync"), 1);
}

TEST_F(TrackedBufferTest, ACopyIntoACaptureIsRefused) {
  const RocmStream h2d = MakeStream();
  hip.SetCaptureStatus(h2d.handle(), hipStreamCaptureStatusActive);
  EXPECT_THAT(CopyHostToDevice(buffer_, host_, 1, h2d).status(),
              IsFailedPrecondition());
  EXPECT_EQ(hip.Count("hipMemcpyAsync"), 0);
  EXPECT_THAT(buffer_.WaitUntilDefined(MakeStream()), IsFailedPrecondition());
}

TEST_F(TrackedBufferTest, ACopyBetweenDevicesWaitsForItsSource) {
  const TrackedBuffer to(host_, sizeof(host_));
  const RocmStream h2d = MakeStream({0, 0, 0});
  const RocmStream d2d = MakeStream({1, 0, 0});
  const RocmStream consumer = MakeStream({2, 0, 0});
  hip.SetBusy(h2d.handle());
  hip.SetBusy(d2d.handle());
  ASSERT_TRUE(CopyHostToDevice(buffer_, host_, 64, h2d).ok());
  hip.ClearCalls();
  ASSERT_TRUE(CopyDeviceToDevice(to, buffer_, 64, d2d).ok());
  ASSERT_TRUE(to.WaitUntilDefined(consumer).ok());
  EXPECT_EQ(StreamCallNames(),
            "StreamWaitEvent MemcpyAsync EventRecord StreamWaitEvent ");
}

TEST_F(TrackedBufferTest, ACopyOnItsSourcesStreamNeedsNoWait) {
  const TrackedBuffer to(host_, sizeof(host_));
  const RocmStream stream = MakeStream();
  hip.SetBusy(stream.handle());
  ASSERT_TRUE(CopyHostToDevice(buffer_, host_, 64, stream).ok());
  ASSERT_TRUE(CopyDeviceToDevice(to, buffer_, 64, stream).ok());
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 0);
}

TEST_F(TrackedBufferTest, ACopyWhoseSourceIsNotEnqueuedYetWaitsForThat) {
  const TrackedBuffer to(host_, sizeof(host_));
  const RocmStream h2d = MakeStream({0, 0, 0});
  const RocmStream d2d = MakeStream({1, 0, 0});
  hip.SetBusy(h2d.handle());
  auto event = SequencingEvent::Create();
  ASSERT_TRUE(buffer_.SetProducerEvent(event).ok());
  auto copied = std::async(std::launch::async, [&] {
    return CopyDeviceToDevice(to, buffer_, 64, d2d).status();
  });
  EXPECT_FALSE(IsReadyAlready(copied));
  EXPECT_EQ(hip.Count("hipMemcpyAsync"), 0);
  EXPECT_NE(to.DefinitionEvent(/*null_if_past=*/true), nullptr)
      << "its readers wait already";
  ASSERT_TRUE(event->RecordOn(h2d).ok());
  EXPECT_TRUE(copied.get().ok());
  EXPECT_EQ(StreamCallNames(),
            "EventRecord StreamWaitEvent MemcpyAsync EventRecord ");
}

// No cycle, no leak. What would be lost is also LeakSanitizer's to report.

TEST_F(TrackedBufferTest, ABufferDoesNotKeepItsProducerEventAlive) {
  auto event = SequencingEvent::Create();
  const std::weak_ptr<SequencingEvent> watch = event;
  ASSERT_TRUE(buffer_.SetProducerEvent(event).ok());
  event.reset();
  EXPECT_TRUE(watch.expired());
  EXPECT_THAT(buffer_.WaitUntilDefined(MakeStream()), IsCancelled());
}

TEST_F(TrackedBufferTest, WhateverACallbackHoldsIsFreedHoweverItEnds) {
  // As a client's own: it has the buffer, which has the event.
  struct Owner {
    TrackedBuffer buffer;
    std::shared_ptr<SequencingEvent> event;
  };
  enum End { kRecorded, kFailed, kRecordFails, kNeverRecorded };
  const RocmStream stream = MakeStream();
  for (End end : {kRecorded, kFailed, kRecordFails, kNeverRecorded}) {
    SCOPED_TRACE(end);
    auto held = std::make_shared<int>(0);
    std::vector<std::string> heard;
    {
      auto promise = SequencingEvent::Create();
      TrackedBuffer buffer(memory_, sizeof(memory_));
      ASSERT_TRUE(buffer.SetProducerEvent(promise).ok());
      auto owner = std::make_shared<Owner>(Owner{
          *buffer.Slice(1, 2), buffer.DefinitionEvent(/*null_if_past=*/false)});
      const auto hear = [&, held](const absl::Status& status) {
        heard.push_back(absl::StatusCodeToString(status.code()));
      };
      // One holds the buffer, one an owner of it and of its event, one that
      // event, and one another's promise.
      promise->AndThen([hear, buffer](const absl::Status& s) { hear(s); });
      promise->AndThen([hear, owner](const absl::Status& s) { hear(s); });
      promise->AndThen(
          [hear, event = owner->event](const absl::Status& s) { hear(s); });
      auto other = SequencingEvent::Create();
      other->AndThen([hear](const absl::Status& s) { hear(s); });
      promise->AndThen([other = std::move(other)](const absl::Status& s) {
        if (!s.ok()) other->SetError(s).IgnoreError();
      });
      switch (end) {
        case kRecorded:
          EXPECT_TRUE(promise->RecordOn(stream).ok());
          break;
        case kFailed:
          EXPECT_TRUE(promise->SetError(kError).ok());
          break;
        case kRecordFails:
          hip.Fail("hipEventRecord", hipErrorLaunchFailure);
          EXPECT_FALSE(promise->RecordOn(stream).ok());
          break;
        case kNeverRecorded:
          break;
      }
    }
    EXPECT_EQ(held.use_count(), 1);
    const std::string code = end == kRecorded      ? "OK"
                             : end == kFailed      ? "DATA_LOSS"
                             : end == kRecordFails ? "INTERNAL"
                                                   : "CANCELLED";
    EXPECT_THAT(heard, ElementsAre(code, code, code,
                                   end == kRecorded ? "CANCELLED" : code));
  }
  EXPECT_TRUE(cache.TrimAll().ok());
  EXPECT_EQ(hip.LiveEvents(), 0);
}

TEST_F(TrackedBufferTest, CopiesLeaveOneEventInThePoolHoweverMany) {
  const RocmStream h2d = MakeStream();
  for (int i = 0; i < 100; ++i) {
    TrackedBuffer buffer(memory_, sizeof(memory_));
    ASSERT_TRUE(CopyHostToDevice(buffer, host_, 64, h2d).ok());
  }
  EXPECT_EQ(hip.Count("hipEventCreateWithFlags"), 1);
  EXPECT_EQ(hip.LiveEvents(), 1);
}

TEST_F(TrackedBufferTest, ProducersAndConsumersOnManyThreadsAgree) {
  constexpr int kBuffers = 200;
  const RocmStream h2d = MakeStream({1, 0, 0});
  hip.SetBusy(h2d.handle(), /*for_ever=*/true);
  std::vector<TrackedBuffer> buffers;
  std::vector<std::shared_ptr<SequencingEvent>> events;
  for (int i = 0; i < kBuffers; ++i) {
    buffers.emplace_back(memory_, sizeof(memory_));
    events.push_back(SequencingEvent::Create());
    ASSERT_TRUE(buffers[i].SetProducerEvent(events[i]).ok());
  }
  std::vector<std::thread> consumers;
  for (int t = 0; t < 3; ++t) {
    consumers.emplace_back([&, t] {
      const RocmStream stream = MakeStream({t, 0, 0});
      for (int i = 0; i < kBuffers; ++i) {
        const TrackedBuffer slice = *buffers[i].Slice(t, 8);
        (void)slice.DefinitionEvent(/*null_if_past=*/true);
        EXPECT_EQ(slice.WaitUntilDefined(stream).code(),
                  i % 3 == 1   ? kError.code()
                  : i % 3 == 2 ? absl::StatusCode::kCancelled
                               : absl::StatusCode::kOk);
      }
    });
  }
  for (int i = 0; i < kBuffers; ++i) {
    if (i % 3 == 0) {
      EXPECT_TRUE(events[i]->RecordOn(h2d).ok());
    } else if (i % 3 == 1) {
      EXPECT_TRUE(events[i]->SetError(kError).ok());
    }
    events[i].reset();
  }
  for (std::thread& consumer : consumers) consumer.join();
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 3 * ((kBuffers + 2) / 3));
  hip.SetIdle(h2d.handle());
}

}  // namespace
}  // namespace hip_stream_pool
