// SPDX-License-Identifier: Apache-2.0
//
// Clients that come and go, over AMD's own HIP runtime on a real or the
// simulated GPU. What only the simulation can show is skipped on a real one.
#include "executor/executor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/held_streams.h"
#include "gpu/hip_testing.h"
#include "gtest/gtest.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "simulated_hsa/simulated_hsa.h"

namespace hip_stream_pool {
namespace {

constexpr int kAllStreams = 18;

void Nap(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// Memory on a device and of the host, for a client to copy between.
class Buffers {
 public:
  static constexpr size_t kSize = 4096;

  explicit Buffers(int device) {
    EXPECT_HIP(hipSetDevice(device));
    EXPECT_HIP(hipMalloc(&on_device, kSize));
    EXPECT_HIP(hipMalloc(&also_on_device, kSize));
    void* pinned = nullptr;
    EXPECT_HIP(hipHostMalloc(&pinned, 2 * kSize, 0));
    from = static_cast<unsigned char*>(pinned);
    to = from + kSize;
  }
  ~Buffers() {
    EXPECT_HIP(hipFree(on_device));
    EXPECT_HIP(hipFree(also_on_device));
    EXPECT_HIP(hipHostFree(from));
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  void* on_device = nullptr;
  void* also_on_device = nullptr;
  unsigned char* from = nullptr;
  unsigned char* to = nullptr;
};

using AllBuffers = std::vector<std::unique_ptr<Buffers>>;

AllBuffers AllocateBuffers() {
  AllBuffers buffers;
  for (int device = 0; device < DeviceCount(); ++device) {
    buffers.push_back(std::make_unique<Buffers>(device));
  }
  return buffers;
}

class ExecutorTest : public ::testing::Test {
 protected:
  ExecutorTest() {
    EXPECT_HIP(hipSetDevice(0));
    EXPECT_TRUE(cache.TrimAll().ok());
  }
  ~ExecutorTest() override {
    if (simulation != nullptr) simulation->SetModel({});
    EXPECT_TRUE(cache.TrimAll().ok());
    EXPECT_EQ(cache.GetStats().leased_now, 0);
  }

  std::unique_ptr<Executor> CreateExecutor() {
    absl::StatusOr<std::unique_ptr<Executor>> executor =
        Executor::Create(devices);
    EXPECT_TRUE(executor.ok()) << executor.status();
    return executor.ok() ? *std::move(executor) : nullptr;
  }

  // Enqueues a copy of each kind on every device, so that what is in `from`
  // ends in `to`. `done` is copied for each of the 3 * devices.
  void EnqueueCopies(Executor& executor, const AllBuffers& on,
                     const std::function<void()>& done) {
    for (int device = 0; device < devices; ++device) {
      const Buffers& memory = *on[device];
      Copy(executor, device, memory.on_device, memory.from,
           hipMemcpyHostToDevice, done);
      Copy(executor, device, memory.also_on_device, memory.on_device,
           hipMemcpyDeviceToDevice, done);
      Copy(executor, device, memory.to, memory.also_on_device,
           hipMemcpyDeviceToHost, done);
    }
  }

  void Copy(Executor& executor, int device, void* to, const void* from,
            hipMemcpyKind kind, Executor::Callback done) {
    absl::Status status =
        executor.Copy(device, to, from, Buffers::kSize, kind, std::move(done));
    EXPECT_TRUE(status.ok()) << status;
  }

  // A client that comes, works and goes.
  void RunClient(const AllBuffers& on) {
    std::atomic<int> callbacks{0};
    std::unique_ptr<Executor> executor = CreateExecutor();
    EnqueueCopies(*executor, on, [&] { ++callbacks; });
    absl::Status closed = executor->Close();
    EXPECT_TRUE(closed.ok()) << closed;
    EXPECT_EQ(callbacks, 3 * devices);
  }

  const int devices = DeviceCount();
  const AllBuffers buffers = AllocateBuffers();
  StreamHandleCache& cache = StreamHandleCache::Get();
  simulated_hsa::Control* simulation = simulated_hsa::Get();
};

class SimulatedExecutorTest : public ExecutorTest {
 protected:
  void SetUp() override {
    if (simulation == nullptr) GTEST_SKIP() << "needs the simulated GPU";
  }

  simulated_hsa::Counters ReadCounters() const {
    return simulation->ReadCounters();
  }

  void ExpectNothingWasAllocatedSince(
      const simulated_hsa::Counters& before) const {
    const simulated_hsa::Counters now = ReadCounters();
    EXPECT_EQ(now.queues_created, before.queues_created);
    EXPECT_EQ(now.allocations, before.allocations);
    EXPECT_EQ(now.live_bytes, before.live_bytes);
  }
};

TEST_F(ExecutorTest, AClientHasEighteenOrFourteenStreamsADevice) {
  EXPECT_EQ(StreamKeys(1, kAllRoles).size(), 18u);
  EXPECT_EQ(StreamKeys(1, kMeasuredRoles).size(), 14u);
  absl::StatusOr<std::unique_ptr<Executor>> executor =
      Executor::Create(devices, kMeasuredRoles);
  ASSERT_TRUE(executor.ok()) << executor.status();
  EXPECT_EQ(cache.GetStats().leased_now, devices * 14);
  int least = 0;
  int greatest = 0;
  ASSERT_HIP(hipDeviceGetStreamPriorityRange(&least, &greatest));
  for (int device = 0; device < devices; ++device) {
    ASSERT_EQ((*executor)->streams(device).size(), 14u);
    for (int i = 0; i < 14; ++i) {
      const RocmStream& stream = (*executor)->streams(device)[i];
      EXPECT_EQ(stream.device_ordinal(), device);
      int priority = 99;
      EXPECT_HIP(hipStreamGetPriority(stream.handle(), &priority));
      EXPECT_EQ(priority, i >= 6 && i < 10 ? greatest : 0) << i;
    }
  }
}

TEST_F(ExecutorTest, CopiesArriveInOrderAndTheirCallbacksRunOnOneThread) {
  // Copies from and to the host take long, so that what does not wait for one
  // overtakes it.
  simulated_hsa::Model slow;
  slow.copy = std::chrono::milliseconds(1);
  if (simulation != nullptr) simulation->SetModel(slow);
  std::unique_ptr<Executor> executor = CreateExecutor();
  for (int round = 1; round <= 5; ++round) {
    for (auto& memory : buffers) {
      std::fill_n(memory->from, Buffers::kSize, round);
    }
    std::atomic<int> callbacks{0};
    std::promise<void> arrived;
    EnqueueCopies(*executor, buffers, [&] {
      if (++callbacks == 3 * devices) arrived.set_value();
    });
    arrived.get_future().wait();
    for (auto& memory : buffers) {
      EXPECT_EQ(memory->to[0], round);
      EXPECT_EQ(memory->to[Buffers::kSize - 1], round);
    }
  }
  std::vector<std::thread::id> threads;
  for (int i = 0; i < 3; ++i) {
    Copy(*executor, 0, buffers[0]->on_device, buffers[0]->from,
         hipMemcpyHostToDevice,
         [&] { threads.push_back(std::this_thread::get_id()); });
  }
  EXPECT_TRUE(executor->Close().ok());
  ASSERT_EQ(threads.size(), 3u);
  EXPECT_EQ(threads[0], threads[1]);
  EXPECT_EQ(threads[0], threads[2]);
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST_F(SimulatedExecutorTest, EveryClientButTheFirstCallsTheDriverZeroTimes) {
  const int64_t at_start = ReadCounters().driver_calls();
  CreateExecutor();
  const int64_t after_first = ReadCounters().driver_calls();
  const int64_t misses = cache.GetStats().misses;
  EXPECT_GT(after_first, at_start);
  for (int i = 0; i < 200; ++i) CreateExecutor();
  EXPECT_EQ(ReadCounters().driver_calls(), after_first);
  EXPECT_EQ(cache.GetStats().misses, misses);
  EXPECT_EQ(cache.GetStats().parked_now, devices * kAllStreams);
}

TEST_F(SimulatedExecutorTest, ClientsThatWorkTakeNoMoreMemoryThanTheFirst) {
  RunClient(buffers);
  const simulated_hsa::Counters after_first = ReadCounters();
  // HIP 6.4 gives a stream signals as it needs them, up to a number.
  for (int i = 0; i < 50; ++i) RunClient(buffers);
  const int64_t signals = ReadCounters().live_signals();
  for (int i = 0; i < 200; ++i) RunClient(buffers);
  ExpectNothingWasAllocatedSince(after_first);
  EXPECT_LT(ReadCounters().live_signals() - signals, 100) << "200 clients";
}

TEST_F(SimulatedExecutorTest, TwoClientsAtOnceTakeNoMoreMemoryThanTwo) {
  const AllBuffers other_buffers = AllocateBuffers();
  // As many streams as two clients have at the most.
  {
    std::unique_ptr<Executor> a = CreateExecutor();
    std::unique_ptr<Executor> b = CreateExecutor();
    EnqueueCopies(*a, buffers, [] {});
    EnqueueCopies(*b, other_buffers, [] {});
  }
  const simulated_hsa::Counters before = ReadCounters();
  const StreamCacheStats stats_before = cache.GetStats();
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) RunClient(t == 0 ? buffers : other_buffers);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const StreamCacheStats stats = cache.GetStats();
  EXPECT_EQ(stats.dropped_stale, stats_before.dropped_stale);
  EXPECT_EQ(stats.refused_error, stats_before.refused_error);
  // On HIP 5.2 an idle stream can read busy while another thread waits for the
  // device. The pool passes over such a stream, and makes one more.
  const int64_t more = stats.misses - stats_before.misses;
  EXPECT_LE(stats.parked_now, 2 * devices * kAllStreams + more);
  if (more == 0) ExpectNothingWasAllocatedSince(before);
}

TEST_F(ExecutorTest, CallbacksThatStillRunAtTeardownEndBeforeTheStreamsGo) {
  std::atomic<int> callbacks{0};
  std::unique_ptr<Executor> executor = CreateExecutor();
  EnqueueCopies(*executor, buffers, [&, streams = executor->streams(0)] {
    Nap(5);
    EXPECT_NE(streams[0].handle(), nullptr);
    EXPECT_EQ(cache.GetStats().leased_now, devices * kAllStreams);
    ++callbacks;
  });
  executor.reset();
  EXPECT_EQ(callbacks, 3 * devices);
}

TEST_F(ExecutorTest, WorkThatACallbackEnqueuesAtTeardownIsWaitedFor) {
  // From device to device, the hard case: a device that has been waited for
  // gets work from the worker of one that has not.
  std::atomic<int> copies{0};
  std::unique_ptr<Executor> owner = CreateExecutor();
  Executor* const executor = owner.get();
  std::function<void()> enqueue = [&] {
    if (copies == 10) return;
    const int device = copies++ % devices;
    Copy(*executor, device, buffers[device]->to, buffers[device]->on_device,
         hipMemcpyDeviceToHost, [&] {
           // Ends when the next callback has begun, and has not enqueued yet.
           Nap(4);
           enqueue();
           Nap(2);
         });
  };
  enqueue();
  owner.reset();
  EXPECT_EQ(copies, 10);
}

TEST_F(ExecutorTest, TeardownWaitsForABusyGpu) {
  std::atomic<int> callbacks{0};
  std::atomic<bool> released{false};
  std::unique_ptr<Executor> executor = CreateExecutor();
  // Copies wait for the first, the compute stream.
  std::vector<hipStream_t> compute;
  for (int device = 0; device < devices; ++device) {
    compute.push_back(executor->streams(device)[0].handle());
  }
  HeldStreams hold(compute);
  EnqueueCopies(*executor, buffers, [&] {
    EXPECT_TRUE(released);
    ++callbacks;
  });
  std::thread release([&] {
    Nap(30);
    released = true;
    hold.Release();
  });
  executor.reset();
  EXPECT_EQ(callbacks, 3 * devices);
  release.join();
}

TEST_F(ExecutorTest, WhatACallbackHoldsIsGoneWhenTheClientIs) {
  auto held = std::make_shared<int>();
  std::unique_ptr<Executor> executor = CreateExecutor();
  EnqueueCopies(*executor, buffers, [held] {});
  executor.reset();
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(ExecutorTest, AClientThatCannotHaveAllItsDevicesLeavesNothing) {
  absl::StatusOr<std::unique_ptr<Executor>> executor =
      Executor::Create(devices + 1);
  EXPECT_EQ(executor.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(cache.GetStats().leased_now, 0);
  EXPECT_EQ(cache.GetStats().parked_now, devices * kAllStreams);
}

}  // namespace
}  // namespace hip_stream_pool
