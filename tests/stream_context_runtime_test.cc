// SPDX-License-Identifier: Apache-2.0
//
// StreamContext over AMD's own HIP runtime.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/held_streams.h"
#include "gpu/hip_testing.h"
#include "gtest/gtest.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/stream_context.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "simulated_hsa/simulated_hsa.h"

namespace hip_stream_pool {
namespace {

constexpr size_t kSize = 1 << 20;

class StreamContextRuntimeTest : public ::testing::Test {
 protected:
  StreamContextRuntimeTest() {
    EXPECT_HIP(hipSetDevice(0));
    EXPECT_HIP(hipStreamCreateWithFlags(&callers_, hipStreamNonBlocking));
    EXPECT_HIP(hipMalloc(&memory_, kSize));
    EXPECT_HIP(hipHostMalloc(&host_, kSize, 0));
    context_ = MakeContext();
  }
  ~StreamContextRuntimeTest() override {
    context_.reset();
    EXPECT_HIP(hipStreamDestroy(callers_));
    EXPECT_HIP(hipFree(memory_));
    EXPECT_HIP(hipHostFree(host_));
  }

  static std::unique_ptr<StreamContext> MakeContext() {
    absl::StatusOr<std::unique_ptr<StreamContext>> made =
        StreamContext::Create({0, hipStreamNonBlocking, 0});
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }

  // Fills the first byte of the memory on the stream.
  absl::Status Fill(int value, hipStream_t stream) {
    return hipMemsetAsync(memory_, value, kSize, stream) == hipSuccess
               ? absl::OkStatus()
               : absl::InternalError("hipMemsetAsync");
  }

  // Reads it back on the stream; to be called where that is idle soon.
  int Read(hipStream_t stream) {
    EXPECT_HIP(
        hipMemcpyAsync(host_, memory_, kSize, hipMemcpyDeviceToHost, stream));
    EXPECT_HIP(hipStreamSynchronize(stream));
    return static_cast<unsigned char*>(host_)[kSize - 1];
  }

  hipStream_t callers_ = nullptr;
  void* memory_ = nullptr;
  void* host_ = nullptr;
  std::unique_ptr<StreamContext> context_;
  simulated_hsa::Control* simulation_ = simulated_hsa::Get();
};

TEST_F(StreamContextRuntimeTest, WorkIsInOrderWithTheCallersOwn) {
  for (int round = 0; round < 20; ++round) {
    ASSERT_HIP(hipMemsetAsync(memory_, 1, kSize, callers_));
    ASSERT_TRUE(context_
                    ->RunAsync(callers_,
                               [&](hipStream_t stream) {
                                 EXPECT_EQ(stream, callers_);
                                 // Copies what the caller wrote before.
                                 EXPECT_HIP(hipMemcpyAsync(
                                     host_, memory_, kSize,
                                     hipMemcpyDeviceToHost, stream));
                                 return Fill(2, stream);
                               })
                    .ok());
    void* after = static_cast<char*>(host_) + kSize / 2;
    ASSERT_HIP(hipMemcpyAsync(after, memory_, kSize / 2, hipMemcpyDeviceToHost,
                              callers_));
    ASSERT_HIP(hipStreamSynchronize(callers_));
    EXPECT_EQ(static_cast<unsigned char*>(host_)[0], 1) << "after the caller's";
    EXPECT_EQ(*static_cast<unsigned char*>(after), 2) << "before the caller's";
  }
}

TEST_F(StreamContextRuntimeTest, RunAsyncReturnsWhileTheStreamIsHeldUp) {
  {
    HeldStreams hold({callers_});
    ASSERT_HIP(hipMemsetAsync(memory_, 1, kSize, callers_));
    ASSERT_TRUE(
        context_->RunAsync(callers_, [&](hipStream_t s) { return Fill(2, s); })
            .ok());
    EXPECT_EQ(hipStreamQuery(callers_), hipErrorNotReady);
    EXPECT_FALSE(context_->has_external_stream());
  }
  EXPECT_EQ(Read(callers_), 2);
}

TEST_F(StreamContextRuntimeTest, RunIsDoneWhenItReturns) {
  for (int value = 1; value < 10; ++value) {
    ASSERT_TRUE(
        context_->Run([&](hipStream_t s) { return Fill(value, s); }).ok());
    EXPECT_HIP(hipStreamQuery(context_->stream()));
    EXPECT_EQ(Read(callers_), value);
  }
}

TEST_F(StreamContextRuntimeTest, RunsOfBothKindsMixAndNest) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(context_
                    ->RunAsync(callers_,
                               [&](hipStream_t outer) {
                                 EXPECT_TRUE(Fill(3, outer).ok());
                                 EXPECT_TRUE(context_
                                                 ->Run([&](hipStream_t inner) {
                                                   EXPECT_NE(inner, outer);
                                                   return absl::OkStatus();
                                                 })
                                                 .ok());
                                 EXPECT_EQ(context_->stream(), outer);
                                 return context_->RunAsync(
                                     nullptr,
                                     [&](hipStream_t s) { return Fill(4, s); });
                               })
                    .ok());
    EXPECT_HIP(hipDeviceSynchronize());
    ASSERT_TRUE(
        context_->Run([&](hipStream_t s) { return Fill(5 + i, s); }).ok());
    EXPECT_EQ(Read(callers_), 5 + i);
  }
}

TEST_F(StreamContextRuntimeTest, WaitForAndFinishOnOrderTwoStreams) {
  for (hipStream_t queue : {callers_, hipStream_t{nullptr}}) {
    std::atomic<bool> done{false};
    const auto callback = [](hipStream_t, hipError_t, void* flag) {
      *static_cast<std::atomic<bool>*>(flag) = true;
    };
    for (bool finish : {false, true}) {
      const hipStream_t first = finish ? context_->stream() : queue;
      const hipStream_t then = finish ? queue : context_->stream();
      done = false;
      {
        HeldStreams hold({first});
        ASSERT_HIP(hipMemsetAsync(memory_, 1, kSize, first));
        ASSERT_TRUE(
            (finish ? context_->FinishOn(queue) : context_->WaitFor(queue))
                .ok());
        EXPECT_FALSE(context_->has_external_stream());
        if (then != nullptr) {
          ASSERT_HIP(hipStreamAddCallback(then, callback, &done, 0));
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          EXPECT_FALSE(done) << "it ran ahead";
        }
      }
      EXPECT_HIP(hipDeviceSynchronize());
      EXPECT_TRUE(done || then == nullptr);
    }
  }
}

TEST_F(StreamContextRuntimeTest, InACaptureTheWorkIsCaptured) {
  ASSERT_HIP(hipStreamBeginCapture(callers_, hipStreamCaptureModeThreadLocal));
  const absl::Status run =
      context_->RunAsync(callers_, [&](hipStream_t s) { return Fill(9, s); });
  EXPECT_TRUE(run.ok()) << run;
  hipGraph_t graph = nullptr;
  ASSERT_HIP(hipStreamEndCapture(callers_, &graph));
  size_t nodes = 0;
  EXPECT_HIP(hipGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 1u);
  EXPECT_HIP(hipGraphDestroy(graph));
}

TEST_F(StreamContextRuntimeTest, ACallersStreamThatDiedIsRefused) {
  hipStream_t dead = nullptr;
  ASSERT_HIP(hipStreamCreateWithFlags(&dead, hipStreamNonBlocking));
  ASSERT_HIP(hipStreamDestroy(dead));
  EXPECT_EQ(context_->UseExternalStream(dead).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_HIP(hipGetLastError());
}

TEST_F(StreamContextRuntimeTest, TheCallersStreamIsNeverThePools) {
  const StreamCacheStats before = StreamHandleCache::Get().GetStats();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(
        context_->RunAsync(callers_, [&](hipStream_t s) { return Fill(1, s); })
            .ok());
  }
  const StreamCacheStats after = StreamHandleCache::Get().GetStats();
  EXPECT_EQ(after.ToString(), before.ToString());
  const hipStream_t internal = context_->stream();
  context_.reset();
  EXPECT_EQ(StreamHandleCache::Get().GetStats().parked_now,
            before.parked_now + 1);
  context_ = MakeContext();
  EXPECT_EQ(context_->stream(), internal) << "back from the pool";
}

TEST_F(StreamContextRuntimeTest, ContextsOfSeveralThreadsShareACallersStream) {
  std::vector<std::thread> threads;
  std::atomic<int> faults{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::unique_ptr<StreamContext> context = MakeContext();
      for (int i = 0; i < 50; ++i) {
        const auto work = [&](hipStream_t s) { return Fill(7, s); };
        if (!context->RunAsync(callers_, work).ok()) ++faults;
        if (!context->Run(work).ok()) ++faults;
        if (context->has_external_stream()) ++faults;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, 0);
  EXPECT_EQ(Read(callers_), 7);
}

TEST_F(StreamContextRuntimeTest, AnExternalRunTakesNoDriverCall) {
  if (simulation_ == nullptr) GTEST_SKIP() << "needs the simulated GPU";
  const auto work = [](hipStream_t) { return absl::OkStatus(); };
  ASSERT_TRUE(context_->RunAsync(callers_, work).ok());
  const int64_t before = simulation_->ReadCounters().driver_calls();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(context_->RunAsync(callers_, work).ok());
  }
  EXPECT_EQ(simulation_->ReadCounters().driver_calls(), before);
}

}  // namespace
}  // namespace hip_stream_pool
