// SPDX-License-Identifier: Apache-2.0
//
// SequencingEvent and TrackedBuffer over AMD's own HIP runtime: the race that
// they are for, with and without them, and what they take for granted of HIP.
//
// The random runs print their seed; HIP_STREAM_POOL_SOAK_SEED=N repeats them,
// but for the interleaving of the threads.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "gpu/hip_testing.h"
#include "gtest/gtest.h"
#include "hip/hip_runtime_api.h"
#include "hip_over_cuda/hip_over_cuda.h"
#include "hip_stream_pool/rocm_stream.h"
#include "hip_stream_pool/sequencing_event.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "hip_stream_pool/tracked_buffer.h"
#include "hip_stream_pool/worker_thread.h"
#include "readme_testing.h"
#include "simulated_hsa/simulated_hsa.h"
#include "stream_testing.h"

namespace {

std::atomic<int> events_created{0};
std::atomic<int> waits_enqueued{0};

}  // namespace

// The pool's calls come through here.
extern "C" hipError_t hipEventCreateWithFlags(hipEvent_t* event,
                                              unsigned int flags) {
  ++events_created;
  static const auto real = reinterpret_cast<decltype(&hipEventCreateWithFlags)>(
      dlsym(RTLD_NEXT, "hipEventCreateWithFlags"));
  return real(event, flags);
}
extern "C" hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event,
                                         unsigned int flags) {
  ++waits_enqueued;
  static const auto real = reinterpret_cast<decltype(&hipStreamWaitEvent)>(
      dlsym(RTLD_NEXT, "hipStreamWaitEvent"));
  return real(stream, event, flags);
}

namespace hip_stream_pool {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// More than what HIP copies to a device by a kernel (16 KiB, from 6.x on).
constexpr size_t kSize = 64 << 10;

RocmStream Make(int device = 0) {
  return MakeStream({device, hipStreamNonBlocking, 0});
}

// Memory of a device, or pinned memory of the host.
class Memory {
 public:
  explicit Memory(int device) {
    int callers = 0;
    EXPECT_HIP(hipGetDevice(&callers));
    EXPECT_HIP(hipSetDevice(device));
    EXPECT_HIP(hipMalloc(&data_, kSize));
    EXPECT_HIP(hipMemset(data_, 0, kSize));
    EXPECT_HIP(hipDeviceSynchronize());
    EXPECT_HIP(hipSetDevice(callers));
  }
  Memory() : on_host_(true) {
    EXPECT_HIP(hipHostMalloc(&data_, kSize, 0));
    std::memset(data_, 0, kSize);
  }
  ~Memory() { EXPECT_HIP(on_host_ ? hipHostFree(data_) : hipFree(data_)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* data() const { return data_; }
  // All its bytes' value; -1 if they have not the same.
  int Value() const {
    const auto* bytes = static_cast<const unsigned char*>(data_);
    for (size_t i = 1; i < kSize; ++i) {
      if (bytes[i] != bytes[0]) return -1;
    }
    return bytes[0];
  }
  void Fill(int value) { std::memset(data_, value, kSize); }

 private:
  void* data_ = nullptr;
  const bool on_host_ = false;
};

// Copies with the stream's device current, as any work is enqueued. Within a
// device it is a kernel that copies, which the model's copy time does not slow.
void EnqueueCopy(void* to, const void* from, hipMemcpyKind kind,
                 const RocmStream& stream) {
  int callers = 0;
  EXPECT_HIP(hipGetDevice(&callers));
  EXPECT_HIP(hipSetDevice(stream.device_ordinal()));
  EXPECT_HIP(hipMemcpyAsync(to, from, kSize, kind, stream.handle()));
  EXPECT_HIP(hipSetDevice(callers));
}

// The kernel of README.md: it copies what it finds.
std::unique_ptr<Memory> launch_saw;
absl::Status Launch(const void* data, hipStream_t stream) {
  launch_saw = std::make_unique<Memory>();
  return hipMemcpyAsync(launch_saw->data(), data, kSize, hipMemcpyDeviceToHost,
                        stream) == hipSuccess
             ? absl::OkStatus()
             : absl::InternalError("hipMemcpyAsync");
}

class TrackedBufferRuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (simulation == nullptr) GTEST_SKIP() << "needs the simulated GPU";
    EXPECT_HIP(hipSetDevice(0));
    devices = DeviceCount();
    waits_enqueued = 0;
  }
  void TearDown() override {
    if (simulation != nullptr) simulation->SetModel({});
  }

  void SetCopyTime(std::chrono::nanoseconds time) {
    simulated_hsa::Model model = simulation->GetModel();
    model.copy = time;
    simulation->SetModel(model);
  }

  // The byte that is in all of a device's memory.
  static int ValueIn(const Memory& memory, const RocmStream& stream) {
    Memory host;
    EnqueueCopy(host.data(), memory.data(), hipMemcpyDeviceToHost, stream);
    EXPECT_TRUE(stream.BlockHostUntilDone().ok());
    return host.Value();
  }

  simulated_hsa::Control* const simulation = simulated_hsa::Get();
  int devices = 0;
};

// The race.

// All memory is made before the copies: HIP waits for a device to free any.
TEST_F(TrackedBufferRuntimeTest, WhoLooksAtItsOwnStreamAloneReadsStaleBytes) {
  const RocmStream h2d = Make();
  const RocmStream compute = Make();
  Memory host;
  Memory device(0);
  Memory stale(0);
  Memory fresh(0);
  host.Fill(0x5a);
  SetCopyTime(milliseconds(500));
  const TrackedBuffer buffer(device.data(), kSize);
  ASSERT_TRUE(CopyHostToDevice(buffer, host.data(), kSize, h2d).ok());
  // "Has moved past": nothing that it has to wait for is left on its stream.
  ASSERT_TRUE(compute.BlockHostUntilDone().ok());
  ASSERT_TRUE(*compute.IsIdle());
  EnqueueCopy(stale.data(), device.data(), hipMemcpyDeviceToDevice, compute);
  ASSERT_TRUE(compute.BlockHostUntilDone().ok());
  ASSERT_FALSE(*h2d.IsIdle()) << "the copy had to be under way all the time";
  ASSERT_NE(buffer.DefinitionEvent(/*null_if_past=*/true), nullptr);

  ASSERT_TRUE(buffer.WaitUntilDefined(compute).ok());
  EnqueueCopy(fresh.data(), device.data(), hipMemcpyDeviceToDevice, compute);
  EXPECT_FALSE(*h2d.IsIdle()) << "the host did not wait for it";
  EXPECT_TRUE(compute.BlockHostUntilDone().ok());
  EXPECT_EQ(buffer.DefinitionEvent(/*null_if_past=*/true), nullptr);
  SetCopyTime(milliseconds(0));
  EXPECT_EQ(ValueIn(stale, compute), 0);
  EXPECT_EQ(ValueIn(fresh, compute), 0x5a);
}

TEST_F(TrackedBufferRuntimeTest,
       AReaderBehindACopyBetweenDevicesWaitsForBothCopies) {
  const RocmStream h2d = Make(0);
  const RocmStream d2d = Make(1);
  const RocmStream compute = Make(1);
  Memory host;
  Memory other(0);
  Memory here(0);
  Memory stale(1);
  Memory there(1);
  Memory seen(1);
  host.Fill(0x5a);
  SetCopyTime(milliseconds(200));
  // Three of these take longer than one of those.
  for (int i = 0; i < 2; ++i) {
    EnqueueCopy(other.data(), host.data(), hipMemcpyHostToDevice, h2d);
  }
  const TrackedBuffer from(here.data(), kSize);
  ASSERT_TRUE(CopyHostToDevice(from, host.data(), kSize, h2d).ok());
  EnqueueCopy(stale.data(), here.data(), hipMemcpyDeviceToDevice, d2d);
  ASSERT_TRUE(d2d.BlockHostUntilDone().ok());
  ASSERT_FALSE(*h2d.IsIdle()) << "the copies had to be under way all the time";

  const TrackedBuffer to(there.data(), kSize);
  ASSERT_TRUE(CopyDeviceToDevice(to, from, kSize, d2d).ok());
  ASSERT_TRUE(to.WaitUntilDefined(compute).ok());
  EnqueueCopy(seen.data(), there.data(), hipMemcpyDeviceToDevice, compute);
  EXPECT_FALSE(*h2d.IsIdle()) << "the host did not wait for them";
  EXPECT_TRUE(compute.BlockHostUntilDone().ok());
  SetCopyTime(milliseconds(0));
  EXPECT_EQ(ValueIn(stale, compute), 0);
  EXPECT_EQ(ValueIn(seen, compute), 0x5a);
}

// Random runs: a buffer is filled, on some device and stream, and read by
// several consumers, of any device, on threads of their own. In some runs it is
// a copy from another device, of what is filled there; in some the consumers
// wait before the first copy is enqueued. The streams come from the pool each
// time.
class RandomRuns {
 public:
  RandomRuns(uint64_t seed, int devices, simulated_hsa::Control* simulation)
      : random_(seed), devices_(devices), simulation_(simulation) {
    for (int device = 0; device < devices; ++device) {
      filled_.push_back(std::make_unique<Memory>(device));
      copied_.push_back(std::make_unique<Memory>(device));
    }
    for (auto& consumer : consumers_) {
      consumer = std::make_unique<Consumer>(devices);
    }
  }

  // Returns how many consumers read something else than the value.
  int Run(int value, bool tracked) {
    simulated_hsa::Model model;
    model.copy = UpTo(1000);
    model.dispatch = UpTo(30);
    simulation_->SetModel(model);
    host_.Fill(value);
    const RocmStream h2d = Make(Below(devices_));
    const RocmStream d2d = Make(Below(devices_));
    const bool between_devices = Below(3) == 0;
    const RocmStream& last = between_devices ? d2d : h2d;
    const TrackedBuffer filled(filled_[h2d.device_ordinal()]->data(), kSize);
    const TrackedBuffer copied(copied_[d2d.device_ordinal()]->data(), kSize);
    const TrackedBuffer& result = between_devices ? copied : filled;
    const auto copy_between_devices = [&] {
      EXPECT_TRUE(CopyDeviceToDevice(copied, filled, kSize, d2d).ok());
    };

    const bool early = Below(2) == 0;
    std::shared_ptr<SequencingEvent> event = SequencingEvent::Create();
    if (early) {
      EXPECT_TRUE(filled.SetProducerEvent(event).ok());
      if (between_devices) {
        copier_.Schedule(copy_between_devices);  // it waits
        while (copied.DefinitionEvent(/*null_if_past=*/false) == nullptr) {
          std::this_thread::yield();
        }
      }
    } else {
      EXPECT_TRUE(CopyHostToDevice(filled, host_.data(), kSize, h2d).ok());
      if (between_devices) copy_between_devices();
    }

    std::atomic<int> stale{0};
    const int consumers = 1 + Below(kConsumers);
    std::vector<RocmStream> streams;
    streams.reserve(consumers);
    for (int i = 0; i < consumers; ++i) {
      streams.push_back(
          Make(Below(2) == 0 ? last.device_ordinal() : Below(devices_)));
      const RocmStream& stream = Below(5) == 0 ? last : streams.back();
      consumers_[i]->thread.Schedule([&, this, i, late = UpTo(200)] {
        std::this_thread::sleep_for(late);
        const absl::Status defined =
            tracked ? result.Slice(0, kSize)->WaitUntilDefined(stream)
                    : stream.BlockHostUntilDone();
        EXPECT_TRUE(defined.ok()) << defined;
        if (consumers_[i]->Read(result.data(), stream) != value) ++stale;
      });
    }
    if (early) {
      std::this_thread::sleep_for(UpTo(300));
      EnqueueCopy(filled.data(), host_.data(), hipMemcpyHostToDevice, h2d);
      EXPECT_TRUE(event->RecordOn(h2d).ok());
      event.reset();
    }
    EXPECT_TRUE(copier_.Drain().ok());
    for (auto& consumer : consumers_) {
      EXPECT_TRUE(consumer->thread.Drain().ok());
    }
    return stale;
  }

 private:
  static constexpr int kConsumers = 3;

  struct Consumer {
    explicit Consumer(int devices) {
      for (int device = 0; device < devices; ++device) {
        seen.push_back(std::make_unique<Memory>(device));
      }
    }
    int Read(const void* data, const RocmStream& stream) {
      const Memory& here = *seen[stream.device_ordinal()];
      host.Fill(0);
      EnqueueCopy(here.data(), data, hipMemcpyDeviceToDevice, stream);
      EnqueueCopy(host.data(), here.data(), hipMemcpyDeviceToHost, stream);
      // Not until the stream is done: where threads share one, HIP 5.2.3 comes
      // back from hipStreamSynchronize too early, once in some thousand times.
      auto read = SequencingEvent::Create();
      EXPECT_TRUE(read->RecordOn(stream).ok());
      EXPECT_TRUE(read->BlockHostUntilComplete().ok());
      return host.Value();
    }

    std::vector<std::unique_ptr<Memory>> seen;
    Memory host;
    WorkerThread thread{"consumer"};
  };

  int Below(int n) { return static_cast<int>(random_() % n); }
  microseconds UpTo(int most) { return microseconds(Below(most + 1)); }

  std::mt19937_64 random_;
  const int devices_;
  simulated_hsa::Control* const simulation_;
  Memory host_;
  std::vector<std::unique_ptr<Memory>> filled_, copied_;
  WorkerThread copier_{"copier"};
  std::unique_ptr<Consumer> consumers_[kConsumers];
};

TEST_F(TrackedBufferRuntimeTest, WhoWaitsUntilDefinedNeverReadsStaleBytes) {
  const char* text = std::getenv("HIP_STREAM_POOL_SOAK_SEED");
  const uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10)
                                        : std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));  // NOLINT
  RandomRuns runs(seed, devices, simulation);
  int stale = 0;
  for (int i = 0; i < 50; ++i) {
    stale += runs.Run(1 + i, /*tracked=*/false);
  }
  EXPECT_GT(stale, 0) << "else the rest shows nothing";
  std::printf("%d stale reads in 50 runs that don't wait\n", stale);
  waits_enqueued = 0;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(runs.Run(1 + i % 255, /*tracked=*/true), 0) << "run " << i;
  }
  EXPECT_GT(waits_enqueued, 100) << "else there was no race to lose";
}

// The pool of events.

TEST_F(TrackedBufferRuntimeTest, InTheSteadyStateNothingIsCreated) {
  const RocmStream h2d = Make(0);
  const RocmStream compute = Make(1);
  Memory host;
  Memory device(0);
  const auto tracked = [&] {
    const TrackedBuffer buffer(device.data(), kSize);
    auto copied = CopyHostToDevice(buffer, host.data(), kSize, h2d);
    ASSERT_TRUE(copied.ok()) << copied.status();
    ASSERT_TRUE(buffer.WaitUntilDefined(compute).ok());
    ASSERT_TRUE((*copied)->BlockHostUntilComplete().ok());
    ASSERT_TRUE(compute.BlockHostUntilDone().ok());
  };
  hipEvent_t event = nullptr;
  ASSERT_HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  const auto by_hand = [&] {
    EnqueueCopy(device.data(), host.data(), hipMemcpyHostToDevice, h2d);
    ASSERT_TRUE(h2d.RecordEvent(event).ok());
    ASSERT_TRUE(compute.WaitFor(event).ok());
    ASSERT_HIP(hipEventSynchronize(event));
    ASSERT_TRUE(compute.BlockHostUntilDone().ok());
  };
  const auto driver_calls = [&](const std::function<void()>& cycle) {
    const int64_t before = simulation->ReadCounters().driver_calls();
    for (int i = 0; i < 100; ++i) cycle();
    return simulation->ReadCounters().driver_calls() - before;
  };
  SetCopyTime(milliseconds(1));
  for (int i = 0; i < 100; ++i) tracked();
  const int64_t calls_by_hand = driver_calls(by_hand);
  const int events = events_created;
  waits_enqueued = 0;
  // Of HIP's own, now and then. An event a cycle would be a hundred.
  EXPECT_LE(driver_calls(tracked), calls_by_hand + 10);
  EXPECT_EQ(events_created, events);
  EXPECT_GT(waits_enqueued, 50) << "else it shows nothing";
  ASSERT_HIP(hipEventDestroy(event));
}

TEST_F(TrackedBufferRuntimeTest, WhereNoWaitIsNeededNoneIsEnqueued) {
  const RocmStream h2d = Make();
  Memory host;
  Memory device(0);
  const TrackedBuffer buffer(device.data(), kSize);
  {
    simulated_hsa::ScopedHold hold(simulation);
    ASSERT_TRUE(CopyHostToDevice(buffer, host.data(), kSize, h2d).ok());
    EXPECT_TRUE(buffer.WaitUntilDefined(h2d).ok());
    EXPECT_EQ(waits_enqueued, 0);
  }
  ASSERT_TRUE(h2d.BlockHostUntilDone().ok());
  EXPECT_TRUE(buffer.WaitUntilDefined(Make(1)).ok());
  EXPECT_EQ(waits_enqueued, 0);
}

// What device_events.h takes for granted: who waits for an event keeps to the
// record that it had. A pooled event that is recorded again at once makes a
// wait for its earlier record neither shorter nor longer.
TEST_F(TrackedBufferRuntimeTest, ARecordOfAPooledEventLeavesEarlierWaitsAlone) {
  const RocmStream producer = Make(0);
  const RocmStream consumer = Make(1);
  const RocmStream other = Make(0);
  Memory host;
  Memory device(0);
  Memory of_other(0);
  Memory host_of_other;
  ASSERT_TRUE(StreamHandleCache::Get().TrimAll().ok());
  const int created = events_created;
  SetCopyTime(milliseconds(200));
  for (const bool next_is_done : {true, false}) {
    waits_enqueued = 0;
    auto event = SequencingEvent::Create();
    EnqueueCopy(device.data(), host.data(), hipMemcpyHostToDevice, producer);
    ASSERT_TRUE(event->RecordOn(producer).ok());
    ASSERT_TRUE(event->WaitOn(consumer).ok());
    ASSERT_EQ(waits_enqueued, 1);
    event.reset();  // to the pool

    event = SequencingEvent::Create();
    for (int i = 0; i < (next_is_done ? 0 : 5); ++i) {
      EnqueueCopy(host_of_other.data(), of_other.data(), hipMemcpyDeviceToHost,
                  other);
    }
    ASSERT_TRUE(event->RecordOn(other).ok());
    ASSERT_EQ(events_created, created + 1) << "it is the same HIP event";
    if (next_is_done) {
      EXPECT_TRUE(event->BlockHostUntilComplete().ok());
      EXPECT_EQ(event->TryIsComplete(), true);
      EXPECT_FALSE(*consumer.IsIdle()) << "the wait became shorter";
      EXPECT_TRUE(consumer.BlockHostUntilDone().ok());
    } else {
      EXPECT_TRUE(consumer.BlockHostUntilDone().ok());
      EXPECT_EQ(event->TryIsComplete(), false) << "the wait became longer";
      EXPECT_FALSE(*other.IsIdle());
    }
  }
}

TEST_F(TrackedBufferRuntimeTest, AnEventOutlivesTheStreamThatItWasRecordedOn) {
  const RocmStream consumer = Make(1);
  Memory host;
  Memory device(0);
  host.Fill(9);
  const TrackedBuffer buffer(device.data(), kSize);
  SetCopyTime(milliseconds(20));
  {
    const RocmStream h2d = Make(0);
    ASSERT_TRUE(CopyHostToDevice(buffer, host.data(), kSize, h2d).ok());
  }
  ASSERT_TRUE(StreamHandleCache::Get().TrimAll().ok());
  EXPECT_EQ(buffer.DefinitionEvent(false)->TryIsComplete(), true);
  EXPECT_TRUE(buffer.WaitUntilDefined(consumer).ok());
}

// With no memory of the device's, which is gone then.
TEST(SequencingEventRuntimeTest, AfterADeviceResetEventsAreOver) {
  if (hip_over_cuda::IsLoaded()) GTEST_SKIP() << "CUDA ends its events";
  ASSERT_HIP(hipSetDevice(0));
  auto before = SequencingEvent::Create();
  {
    const RocmStream stream = Make();
    ASSERT_TRUE(before->RecordOn(stream).ok());
  }
  ASSERT_HIP(hipDeviceReset());
  StreamHandleCache::Get().Invalidate(0);
  EXPECT_EQ(before->TryIsComplete(), true);
  before.reset();
  const RocmStream stream = Make();
  auto after = SequencingEvent::Create();
  EXPECT_TRUE(after->RecordOn(stream).ok());
  EXPECT_TRUE(after->BlockHostUntilComplete().ok());
}

// Captures.

TEST_F(TrackedBufferRuntimeTest,
       AGlobalCaptureElsewhereSurvivesAndHindersNobody) {
  const RocmStream h2d = Make();
  const RocmStream compute = Make();
  const RocmStream capturing = Make();
  Memory host;
  Memory device(0);
  host.Fill(3);
  std::promise<void> began;
  std::promise<void> end;
  std::thread capture([&] {
    EXPECT_HIP(hipSetDevice(0));
    EXPECT_HIP(
        hipStreamBeginCapture(capturing.handle(), hipStreamCaptureModeGlobal));
    began.set_value();
    end.get_future().wait();
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    EXPECT_HIP(hipStreamIsCapturing(capturing.handle(), &status));
    EXPECT_EQ(status, hipStreamCaptureStatusActive);
    hipGraph_t graph = nullptr;
    EXPECT_HIP(hipStreamEndCapture(capturing.handle(), &graph));
    if (graph != nullptr) {
      EXPECT_HIP(hipGraphDestroy(graph));
    }
  });
  began.get_future().wait();
  SetCopyTime(milliseconds(50));
  const TrackedBuffer buffer(device.data(), kSize);
  absl::StatusOr<std::shared_ptr<SequencingEvent>> event =
      CopyHostToDevice(buffer, host.data(), kSize, h2d);
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ((*event)->TryIsComplete(), false);
  EXPECT_TRUE(buffer.WaitUntilDefined(compute).ok());
  EXPECT_EQ(waits_enqueued, 1);
  EXPECT_EQ(buffer.WaitUntilDefined(capturing).code(),
            absl::StatusCode::kFailedPrecondition);
  const absl::Status blocked = (*event)->BlockHostUntilComplete();
  EXPECT_TRUE(blocked.ok()) << blocked;
  EXPECT_EQ((*event)->TryIsComplete(), true);
  EXPECT_HIP(hipGetLastError());
  end.set_value();
  capture.join();
  EXPECT_TRUE(compute.BlockHostUntilDone().ok());
  EXPECT_EQ(ValueIn(device, compute), 3);
}

// HIP locks an event for as long as hipEventSynchronize waits for it.
TEST_F(TrackedBufferRuntimeTest, WhoBlocksTheHostKeepsNobodyFromAsking) {
  const RocmStream producer = Make();
  const RocmStream consumer = Make();
  Memory host;
  Memory device(0);
  auto event = SequencingEvent::Create();
  std::future<absl::Status> blocked;
  {
    const simulated_hsa::ScopedHold hold(simulated_hsa::Get());
    EnqueueCopy(device.data(), host.data(), hipMemcpyHostToDevice, producer);
    ASSERT_TRUE(event->RecordOn(producer).ok());
    blocked = std::async(std::launch::async,
                         [&] { return event->BlockHostUntilComplete(); });
    std::this_thread::sleep_for(milliseconds(20));
    std::future<void> asked = std::async(std::launch::async, [&] {
      EXPECT_EQ(event->TryIsComplete(), false);
      EXPECT_TRUE(event->WaitOn(consumer).ok());
    });
    EXPECT_EQ(asked.wait_for(std::chrono::seconds(5)),
              std::future_status::ready);
  }
  EXPECT_TRUE(blocked.get().ok());
}

// HIP 6.4 ends the capture of a stream when it is asked about an event that was
// recorded there before.
TEST_F(TrackedBufferRuntimeTest, ACaptureOnTheProducersStreamSurvives) {
  const RocmStream consumer = Make();
  Memory host;
  Memory device(0);
  for (const bool given_back : {false, true}) {
    RocmStream producer = Make();
    const TrackedBuffer buffer(device.data(), kSize);
    ASSERT_TRUE(CopyHostToDevice(buffer, host.data(), kSize, producer).ok());
    auto event = SequencingEvent::Create();
    ASSERT_TRUE(event->RecordOn(producer).ok());
    ASSERT_TRUE(producer.BlockHostUntilDone().ok());
    const hipStream_t handle = producer.handle();
    if (given_back) {
      ASSERT_TRUE(producer.Release().ok());
      producer = Make();
      ASSERT_EQ(producer.handle(), handle);
    }
    ASSERT_HIP(hipStreamBeginCapture(handle, hipStreamCaptureModeRelaxed));
    EXPECT_EQ(event->TryIsComplete(), given_back);
    EXPECT_EQ(event->BlockHostUntilComplete().ok(), given_back);
    EXPECT_EQ(buffer.WaitUntilDefined(consumer).ok(), given_back);
    EXPECT_EQ(buffer.DefinitionEvent(true) == nullptr, given_back);
    EXPECT_EQ(hipGetLastError(), hipSuccess);
    hipGraph_t graph = nullptr;
    EXPECT_HIP(hipStreamEndCapture(handle, &graph));
    EXPECT_HIP(hipGraphDestroy(graph));
    EXPECT_TRUE(buffer.WaitUntilDefined(consumer).ok());
    EXPECT_EQ(event->TryIsComplete(), true);
  }
}

TEST_F(TrackedBufferRuntimeTest, ACaptureIsNotMadeToWaitForWhatIsOutsideOfIt) {
  const RocmStream outside = Make();
  const RocmStream capturing = Make();
  ASSERT_HIP(
      hipStreamBeginCapture(capturing.handle(), hipStreamCaptureModeRelaxed));
  EXPECT_EQ(capturing.WaitFor(outside).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(outside.WaitFor(capturing).ok()) << "that joins the capture";
  EXPECT_TRUE(capturing.WaitFor(outside).ok());
  hipGraph_t graph = nullptr;
  EXPECT_HIP(hipStreamEndCapture(capturing.handle(), &graph));
  EXPECT_HIP(hipGraphDestroy(graph));
}

// README.

// [README: Read what another stream has written]
absl::Status CopyAndRun(const TrackedBuffer& input, const void* from,
                        const RocmStream& h2d, const RocmStream& compute) {
  auto copied = CopyHostToDevice(input, from, input.size(), h2d);
  if (!copied.ok()) return copied.status();
  absl::Status defined = input.WaitUntilDefined(compute);  // on any thread
  if (!defined.ok()) return defined;
  return Launch(input.data(), compute.handle());
}
// [README: end]

TEST_F(TrackedBufferRuntimeTest, ReadmesCodeWorksAndIsTheSame) {
  EXPECT_TRUE(ReadmeQuotes(SOURCE_FOLDER,
                           "tests/tracked_buffer_runtime_test.cc",
                           "Read what another stream has written"));
  const RocmStream h2d = Make();
  const RocmStream compute = Make();
  Memory host;
  Memory device(0);
  host.Fill(4);
  SetCopyTime(milliseconds(50));
  EXPECT_TRUE(
      CopyAndRun({device.data(), kSize}, host.data(), h2d, compute).ok());
  EXPECT_TRUE(compute.BlockHostUntilDone().ok());
  EXPECT_EQ(launch_saw->Value(), 4);
}

// HIP keeps its events when a device is reset, and the pool reuses them.
TEST(EventPoolRuntimeTest, AsManyEventsAreMadeAsAreInUseAtOnceResetsOrNot) {
  if (hip_over_cuda::IsLoaded()) GTEST_SKIP() << "CUDA ends its events";
  StreamHandleCache& cache = StreamHandleCache::Get();
  ASSERT_HIP(hipSetDevice(0));
  ASSERT_TRUE(cache.TrimAll().ok());
  const int before = events_created;
  for (int reset = 0; reset < 10; ++reset) {
    const RocmStream producer = Make();
    const RocmStream consumer = Make();
    std::vector<std::shared_ptr<SequencingEvent>> events;
    for (int i = 0; i < 5; ++i) {
      events.push_back(SequencingEvent::Create());
      ASSERT_TRUE(events.back()->RecordOn(producer).ok());
      ASSERT_TRUE(events.back()->WaitOn(consumer).ok());
      ASSERT_TRUE(events.back()->BlockHostUntilComplete().ok());
    }
    if (reset % 2 == 0) events.clear();
    ASSERT_HIP(hipDeviceReset());
    cache.Invalidate(0);
  }
  EXPECT_EQ(events_created - before, 5);
}

}  // namespace
}  // namespace hip_stream_pool
