// SPDX-License-Identifier: Apache-2.0
//
// HIP over CUDA, over a CUDA runtime that has no GPU, and over none.
#include "hip_over_cuda/hip_over_cuda.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gpu/hip_testing.h"
#include "gtest/gtest.h"
#include "hip/hip_runtime_api.h"

namespace {

using ::testing::StartsWith;

class HipOverCudaTest : public ::testing::Test {
 protected:
  HipOverCudaTest() { (void)hipGetLastError(); }

  static hipStream_t Create(int priority = 0) {
    hipStream_t stream = nullptr;
    EXPECT_HIP(
        hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, priority));
    return stream;
  }

  static void ExpectDead(hipStream_t stream) {
    unsigned int flags = 0;
    int priority = 0;
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    for (hipError_t error :
         {hipStreamQuery(stream), hipStreamSynchronize(stream),
          hipStreamGetFlags(stream, &flags),
          hipStreamGetPriority(stream, &priority),
          hipStreamIsCapturing(stream, &status), hipStreamDestroy(stream)}) {
      EXPECT_EQ(error, hipErrorContextIsDestroyed);
    }
  }
};

TEST_F(HipOverCudaTest, SaysThatItIsOverCuda) {
  EXPECT_TRUE(hip_over_cuda::IsLoaded());
  EXPECT_THAT(hip_over_cuda::Description(), StartsWith("over CUDA 1"));
}

TEST_F(HipOverCudaTest, AStreamIsWhatItWasAskedToBe) {
  int least = 0;
  int greatest = 0;
  ASSERT_HIP(hipDeviceGetStreamPriorityRange(&least, &greatest));
  hipStream_t stream = Create(greatest - 1);
  unsigned int flags = 0;
  int priority = 0;
  EXPECT_HIP(hipStreamGetFlags(stream, &flags));
  EXPECT_HIP(hipStreamGetPriority(stream, &priority));
  EXPECT_EQ(flags, hipStreamNonBlocking);
  EXPECT_EQ(priority, greatest);
  EXPECT_HIP(hipStreamDestroy(stream));
}

TEST_F(HipOverCudaTest, AStreamThatWasDestroyedIsNone) {
  hipStream_t stream = Create();
  EXPECT_HIP(hipStreamQuery(stream));
  ASSERT_HIP(hipStreamDestroy(stream));
  ExpectDead(stream);
}

TEST_F(HipOverCudaTest, WhatNeverWasAStreamIsNone) {
  int not_a_stream = 0;
  hipStream_t stream = Create();
  ExpectDead(reinterpret_cast<hipStream_t>(&not_a_stream));
  ExpectDead(
      reinterpret_cast<hipStream_t>(reinterpret_cast<uintptr_t>(stream) + 8));
  EXPECT_HIP(hipStreamDestroy(stream));
}

TEST_F(HipOverCudaTest, AResetIsTheEndOfTheStreams) {
  const std::vector<hipStream_t> streams = {Create(), Create(), Create()};
  ASSERT_HIP(hipDeviceReset());
  for (hipStream_t stream : streams) ExpectDead(stream);
}

TEST_F(HipOverCudaTest, AFreedHandleIsTheNextStreams) {
  hipStream_t first = Create();
  ASSERT_HIP(hipStreamDestroy(first));
  hipStream_t second = Create();
  EXPECT_EQ(second, first);
  EXPECT_HIP(hipStreamQuery(second));
  EXPECT_HIP(hipStreamDestroy(second));
}

TEST_F(HipOverCudaTest, OneOfManyThreadsDestroysAStream) {
  for (int round = 0; round < 100; ++round) {
    hipStream_t stream = Create();
    std::atomic<int> destroyed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back(
          [&] { destroyed += hipStreamDestroy(stream) == hipSuccess; });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(destroyed, 1);
  }
}

TEST_F(HipOverCudaTest, SpecialStreamsAreCudasOwn) {
  for (hipStream_t stream :
       {hipStream_t{nullptr}, reinterpret_cast<hipStream_t>(1),
        hipStreamPerThread}) {
    EXPECT_HIP(hipStreamQuery(stream));
    EXPECT_HIP(hipStreamSynchronize(stream));
    EXPECT_EQ(hipStreamDestroy(stream), hipErrorInvalidHandle);
  }
}

TEST_F(HipOverCudaTest, AFailureStaysUntilItIsRead) {
  hipStream_t stream = nullptr;
  EXPECT_EQ(hipStreamCreateWithFlags(&stream, 7), hipErrorInvalidValue);
  EXPECT_HIP(hipDeviceSynchronize());
  EXPECT_EQ(hipPeekAtLastError(), hipErrorInvalidValue);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidValue);
  EXPECT_HIP(hipGetLastError());
}

TEST_F(HipOverCudaTest, ErrorsHaveHipsNames) {
  EXPECT_STREQ(hipGetErrorName(hipSetDevice(64)), "hipErrorInvalidDevice");
  EXPECT_STREQ(hipGetErrorName(hipErrorNotReady), "hipErrorNotReady");
  EXPECT_STREQ(hipGetErrorName(static_cast<hipError_t>(12345)),
               "hipErrorUnknown");
}

TEST_F(HipOverCudaTest, ACallbackGetsTheStreamsHandle) {
  struct Seen {
    hipStream_t stream;
    hipError_t error;
  } seen = {nullptr, hipErrorUnknown};
  hipStream_t stream = Create();
  ASSERT_HIP(hipStreamAddCallback(
      stream,
      [](hipStream_t called, hipError_t error, void* data) {
        *static_cast<Seen*>(data) = {called, error};
      },
      &seen, 0));
  EXPECT_HIP(hipStreamSynchronize(stream));
  EXPECT_EQ(seen.stream, stream);
  EXPECT_EQ(seen.error, hipSuccess);
  EXPECT_HIP(hipStreamDestroy(stream));
}

TEST_F(HipOverCudaTest, StreamsWithACuMaskAreNotSupported) {
  hipStream_t stream = nullptr;
  const uint32_t mask = 1;
  EXPECT_EQ(hipExtStreamCreateWithCUMask(&stream, 1, &mask),
            hipErrorNotSupported);
}

TEST_F(HipOverCudaTest, BytesGoThereAndBack) {
  void* memory = nullptr;
  hipStream_t stream = Create();
  ASSERT_HIP(hipMalloc(&memory, 4));
  ASSERT_HIP(hipMemsetAsync(memory, 7, 4, stream));
  uint32_t value = 0;
  ASSERT_HIP(hipMemcpyAsync(&value, memory, 4, hipMemcpyDeviceToHost, stream));
  EXPECT_HIP(hipStreamSynchronize(stream));
  EXPECT_EQ(value, 0x07070707u);
  EXPECT_HIP(hipFree(memory));
  EXPECT_HIP(hipStreamDestroy(stream));
}

TEST_F(HipOverCudaTest, EventsCanBeMadeRecordedAndWaitedFor) {
  hipStream_t stream = Create();
  hipEvent_t event = nullptr;
  ASSERT_HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  EXPECT_HIP(hipEventRecord(event, stream));
  EXPECT_HIP(hipStreamWaitEvent(stream, event, 0));
  EXPECT_HIP(hipEventSynchronize(event));
  EXPECT_HIP(hipEventQuery(event));
  EXPECT_HIP(hipEventDestroy(event));
  EXPECT_HIP(hipStreamDestroy(stream));
}

// Run alone, with no CUDA runtime to be found.
TEST(WithoutCudaTest, EveryCallSaysThatThereIsNoDevice) {
  int count = 9;
  int version = 0;
  void* memory = nullptr;
  hipStream_t stream = nullptr;
  hipEvent_t event = nullptr;
  hipDeviceProp_t properties = {};
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
  for (hipError_t error :
       {hipGetDeviceCount(&count), hipSetDevice(0), hipDeviceSynchronize(),
        hipDeviceReset(), hipGetDeviceProperties(&properties, 0),
        hipRuntimeGetVersion(&version), hipMalloc(&memory, 1),
        hipStreamCreate(&stream), hipStreamQuery(nullptr),
        hipStreamDestroy(reinterpret_cast<hipStream_t>(&count)),
        hipEventCreate(&event), hipMemsetAsync(memory, 0, 1, nullptr),
        hipThreadExchangeStreamCaptureMode(&mode), hipGetLastError()}) {
    EXPECT_EQ(error, hipErrorNoDevice);
  }
  EXPECT_EQ(count, 0);
  EXPECT_EQ(mode, hipStreamCaptureModeRelaxed);
  EXPECT_STREQ(hip_over_cuda::Description(), "over CUDA 0.0");
}

}  // namespace
