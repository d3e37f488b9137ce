// SPDX-License-Identifier: Apache-2.0
//
// What the pool relies on that HIP does, by version, without the pool. A new
// version that behaves otherwise fails here first. Nothing is tried that
// crashes a version: from 7.0 on, most calls with a stream that does not exist
// do.
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include "gpu/hip_testing.h"
#include "gtest/gtest.h"
#include "hip/hip_runtime_api.h"
#include "hip_over_cuda/hip_over_cuda.h"
#include "simulated_hsa/simulated_hsa.h"

namespace {

using hip_stream_pool::DeviceCount;

class HipFactsTest : public ::testing::Test {
 protected:
  HipFactsTest() {
    EXPECT_HIP(hipSetDevice(0));
    EXPECT_HIP(hipRuntimeGetVersion(&version));
    (void)hipGetLastError();
  }
  void SetUp() override {
    if (hip_over_cuda::IsLoaded()) GTEST_SKIP() << "of AMD's HIP";
  }

  bool Is(int from_major, int to_major) const {
    return version >= from_major * 10000000 &&
           version < (to_major + 1) * 10000000;
  }

  int version = 0;
};

hipStream_t NewStream(unsigned int flags = hipStreamNonBlocking) {
  hipStream_t stream = nullptr;
  EXPECT_HIP(hipStreamCreateWithFlags(&stream, flags));
  return stream;
}

// A query by a thread in `mode` of a stream without work, while another thread
// captures in global mode.
struct QueryAmongCaptures {
  hipError_t query;
  hipStreamCaptureStatus capture;  // afterwards
  hipError_t end;
};
QueryAmongCaptures QueryWhileCapturing(hipStreamCaptureMode mode) {
  hipStream_t other = NewStream();
  hipStream_t capturing = NewStream();
  QueryAmongCaptures seen = {};
  EXPECT_HIP(hipStreamBeginCapture(capturing, hipStreamCaptureModeGlobal));
  std::thread([&] {
    EXPECT_HIP(hipThreadExchangeStreamCaptureMode(&mode));
    seen.query = hipStreamQuery(other);
    EXPECT_HIP(hipThreadExchangeStreamCaptureMode(&mode));
  }).join();
  EXPECT_HIP(hipStreamIsCapturing(capturing, &seen.capture));
  hipGraph_t graph = nullptr;
  seen.end = hipStreamEndCapture(capturing, &graph);
  if (graph != nullptr) {
    EXPECT_HIP(hipGraphDestroy(graph));
  }
  (void)hipGetLastError();
  EXPECT_HIP(hipStreamDestroy(other));
  EXPECT_HIP(hipStreamDestroy(capturing));
  return seen;
}

// So the pool neither reads nor sets the device for it.
TEST_F(HipFactsTest, AStreamIsAskedAndDestroyedWhateverDeviceIsCurrent) {
  if (DeviceCount() < 2) GTEST_SKIP() << "needs two devices";
  for (unsigned int flags : {hipStreamDefault, hipStreamNonBlocking}) {
    ASSERT_HIP(hipSetDevice(1));
    hipStream_t stream = nullptr;
    ASSERT_HIP(hipStreamCreateWithPriority(&stream, flags, -1));
    ASSERT_HIP(hipSetDevice(0));
    hipStreamCaptureStatus status = hipStreamCaptureStatusActive;
    EXPECT_HIP(hipStreamIsCapturing(stream, &status));
    EXPECT_EQ(status, hipStreamCaptureStatusNone);
    EXPECT_HIP(hipStreamQuery(stream));
    EXPECT_HIP(hipStreamSynchronize(stream));
    unsigned int read_flags = 99;
    int priority = 99;
    EXPECT_HIP(hipStreamGetFlags(stream, &read_flags));
    EXPECT_HIP(hipStreamGetPriority(stream, &priority));
    EXPECT_EQ(read_flags, flags);
    EXPECT_EQ(priority, -1);
#if HIP_VERSION >= 50600000
    hipDevice_t device = -1;
    EXPECT_HIP(hipStreamGetDevice(stream, &device));
    EXPECT_EQ(device, 1);
#endif
    EXPECT_HIP(hipStreamDestroy(stream));
    int current = -1;
    EXPECT_HIP(hipGetDevice(&current));
    EXPECT_EQ(current, 0);
  }
}

// So the pool queries in relaxed mode.
TEST_F(HipFactsTest, AQueryInGlobalModeEndsTheCaptureOfAnotherThreadFrom6) {
  const auto seen = QueryWhileCapturing(hipStreamCaptureModeGlobal);
  if (version < 50600000) {
    EXPECT_EQ(seen.query, hipSuccess);
  } else {
    EXPECT_EQ(seen.query, hipErrorStreamCaptureUnsupported);
  }
  const bool ends_it = version >= 60200000;
  EXPECT_EQ(seen.capture, ends_it ? hipStreamCaptureStatusInvalidated
                                  : hipStreamCaptureStatusActive);
  EXPECT_EQ(seen.end, ends_it ? hipErrorStreamCaptureInvalidated : hipSuccess);
}

TEST_F(HipFactsTest, AQueryInRelaxedModeEndsNoCapture) {
  const auto seen = QueryWhileCapturing(hipStreamCaptureModeRelaxed);
  const bool is_refused = version >= 50600000 && version < 60200000;
  EXPECT_EQ(seen.query,
            is_refused ? hipErrorStreamCaptureUnsupported : hipSuccess);
  EXPECT_EQ(seen.capture, hipStreamCaptureStatusActive);
  EXPECT_EQ(seen.end, hipSuccess);
}

// So HipScope clears the last error only after a call of its own that failed.
TEST_F(HipFactsTest, TheLastErrorIsOverwrittenBySuccessUpTo6AndKeptFrom7) {
  EXPECT_NE(hipSetDevice(-1), hipSuccess);
  int device = 0;
  EXPECT_HIP(hipGetDevice(&device));
  EXPECT_EQ(hipGetLastError(), Is(7, 99) ? hipErrorInvalidDevice : hipSuccess);
  EXPECT_EQ(hipGetLastError(), hipSuccess) << "reading it clears it";
}

TEST_F(HipFactsTest, BusyIsNoLastErrorFrom7) {
  auto* simulation = simulated_hsa::Get();
  if (simulation == nullptr) GTEST_SKIP() << "needs the simulated GPU";
  void* memory = nullptr;
  ASSERT_HIP(hipMalloc(&memory, 64));
  hipStream_t stream = NewStream();
  simulation->Hold();
  ASSERT_HIP(hipMemsetAsync(memory, 1, 64, stream));
  EXPECT_EQ(hipStreamQuery(stream), hipErrorNotReady);
  EXPECT_EQ(hipGetLastError(), Is(7, 99) ? hipSuccess : hipErrorNotReady);
  simulation->Release();
  ASSERT_HIP(hipStreamSynchronize(stream));
  ASSERT_HIP(hipStreamDestroy(stream));
  ASSERT_HIP(hipFree(memory));
}

// So CheckDevice comes before any other call where a stream may be gone.
TEST_F(HipFactsTest, TheseCallsTellThatAStreamDoesNotExist) {
  hipStream_t gone = NewStream();
  ASSERT_HIP(hipStreamDestroy(gone));
#if HIP_VERSION >= 50600000
  hipDevice_t device = 0;
  EXPECT_EQ(hipStreamGetDevice(gone, &device), hipErrorContextIsDestroyed);
#endif
#if HIP_VERSION >= 70100000
  unsigned long long id = 0;  // NOLINT(google-runtime-int)
  EXPECT_EQ(hipStreamGetId(gone, &id), hipErrorInvalidHandle);
#endif
  if (version < 70000000) {
    unsigned int flags = 0;
    int priority = 0;
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    EXPECT_EQ(hipStreamQuery(gone), hipErrorContextIsDestroyed);
    EXPECT_EQ(hipStreamSynchronize(gone), hipErrorContextIsDestroyed);
    EXPECT_EQ(hipStreamGetFlags(gone, &flags), hipErrorContextIsDestroyed);
    EXPECT_EQ(hipStreamGetPriority(gone, &priority),
              hipErrorContextIsDestroyed);
    EXPECT_EQ(
        hipStreamIsCapturing(gone, &status),
        version < 50600000 ? hipErrorInvalidValue : hipErrorContextIsDestroyed);
    EXPECT_EQ(hipStreamDestroy(gone), hipErrorContextIsDestroyed);
  }
  (void)hipGetLastError();
}

// So an event shows whether a foreign stream is of the device (before 5.6).
TEST_F(HipFactsTest, AnEventIsNotRecordedOnAStreamOfAnotherDevice) {
  if (DeviceCount() < 2) GTEST_SKIP() << "needs two devices";
  hipStream_t stream = NewStream();
  hipEvent_t event = nullptr;
  ASSERT_HIP(hipSetDevice(1));
  ASSERT_HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  EXPECT_EQ(hipEventRecord(event, stream), hipErrorInvalidHandle);
  ASSERT_HIP(hipEventDestroy(event));
  ASSERT_HIP(hipSetDevice(0));
  ASSERT_HIP(hipStreamDestroy(stream));
}

// So the pool keeps its events, and forgets its streams.
TEST_F(HipFactsTest, AResetEndsTheStreamsAndKeepsTheEvents) {
  hipEvent_t event = nullptr;
  ASSERT_HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  hipStream_t gone = NewStream();
  ASSERT_HIP(hipEventRecord(event, gone));
  ASSERT_HIP(hipStreamSynchronize(gone));
  ASSERT_HIP(hipDeviceReset());
#if HIP_VERSION >= 50600000
  hipDevice_t device = 0;
  EXPECT_EQ(hipStreamGetDevice(gone, &device), hipErrorContextIsDestroyed);
#else
  EXPECT_EQ(hipStreamQuery(gone), hipErrorContextIsDestroyed);
#endif
  hipStream_t stream = NewStream();
  EXPECT_HIP(hipEventRecord(event, stream));
  EXPECT_HIP(hipStreamSynchronize(stream));
  EXPECT_HIP(hipEventQuery(event));
  EXPECT_HIP(hipEventDestroy(event));
  EXPECT_HIP(hipStreamDestroy(stream));
}

#if HIP_VERSION >= 70100000
// So an identity proves that a parked stream is the one that was parked.
TEST_F(HipFactsTest, AnIdentityIsNeverUsedAgain) {
  std::set<unsigned long long> ids;  // NOLINT(google-runtime-int)
  const auto see = [&](hipStream_t stream) {
    unsigned long long id = 0;  // NOLINT(google-runtime-int)
    EXPECT_HIP(hipStreamGetId(stream, &id));
    EXPECT_TRUE(ids.insert(id).second) << id;
  };
  std::set<hipStream_t> handles;
  for (int round = 0; round < 20; ++round) {
    for (int device = 0; device < DeviceCount(); ++device) {
      ASSERT_HIP(hipSetDevice(device));
      std::vector<hipStream_t> streams;
      for (int i = 0; i < 4; ++i) {
        streams.push_back(NewStream());
        see(streams.back());
        handles.insert(streams.back());
      }
      if (round % 2 == 0) {
        ASSERT_HIP(hipDeviceReset());
      } else {
        for (hipStream_t stream : streams) ASSERT_HIP(hipStreamDestroy(stream));
      }
    }
  }
  EXPECT_LT(handles.size(), ids.size()) << "handles are";
  ASSERT_HIP(hipSetDevice(0));
}

// So this is what the pool resets before it parks a stream.
TEST_F(HipFactsTest, TheSynchronizationPolicyStaysOnAStream) {
  hipStream_t stream = NewStream();
  hipStreamAttrValue value = {};
  ASSERT_HIP(hipStreamGetAttribute(
      stream, hipStreamAttributeSynchronizationPolicy, &value));
  EXPECT_EQ(value.syncPolicy, hipSyncPolicyAuto) << "of a new stream";
  value.syncPolicy = hipSyncPolicyYield;
  ASSERT_HIP(hipStreamSetAttribute(
      stream, hipStreamAttributeSynchronizationPolicy, &value));
  value = {};
  ASSERT_HIP(hipStreamGetAttribute(
      stream, hipStreamAttributeSynchronizationPolicy, &value));
  EXPECT_EQ(value.syncPolicy, hipSyncPolicyYield);
  ASSERT_HIP(hipStreamDestroy(stream));
}

// The other attributes that can be set: what one stream is given, no other has.
TEST_F(HipFactsTest, NoOtherAttributeCanBeSetAndStays) {
  hipStream_t stream = NewStream();
  for (int attribute = 0; attribute < 16; ++attribute) {
    if (attribute == hipStreamAttributeSynchronizationPolicy) continue;
    const auto id = static_cast<hipStreamAttrID>(attribute);
    hipStreamAttrValue before = {};
    if (hipStreamGetAttribute(stream, id, &before) != hipSuccess) continue;
    hipStreamAttrValue value = before;
    // Every attribute's value begins with a number, a pointer or an enumerator.
    ++*reinterpret_cast<unsigned char*>(&value);
    const bool was_set =
        hipStreamSetAttribute(stream, id, &value) == hipSuccess;
    hipStreamAttrValue after = {};
    ASSERT_HIP(hipStreamGetAttribute(stream, id, &after));
    const bool stays = *reinterpret_cast<unsigned char*>(&after) !=
                       *reinterpret_cast<unsigned char*>(&before);
    EXPECT_FALSE(was_set && stays) << "attribute " << attribute;
  }
  (void)hipGetLastError();
  ASSERT_HIP(hipStreamDestroy(stream));
}
#endif

// So DeviceStreams does not query such a stream on HIP 5.
TEST_F(HipFactsTest, AQueryOfABlockingStreamWaitsForTheNullStreamUpTo5) {
  auto* simulation = simulated_hsa::Get();
  if (simulation == nullptr) GTEST_SKIP() << "needs the simulated GPU";
  void* memory = nullptr;
  ASSERT_HIP(hipMalloc(&memory, 64));
  hipStream_t stream = NewStream(hipStreamDefault);
  ASSERT_HIP(hipMemsetAsync(memory, 1, 64, stream));
  ASSERT_HIP(hipDeviceSynchronize());
  simulation->Hold();
  ASSERT_HIP(hipMemsetAsync(memory, 1, 64, nullptr));
  EXPECT_EQ(hipStreamQuery(stream), Is(5, 5) ? hipErrorNotReady : hipSuccess);
  simulation->Release();
  ASSERT_HIP(hipDeviceSynchronize());
  ASSERT_HIP(hipStreamDestroy(stream));
  ASSERT_HIP(hipFree(memory));
}

}  // namespace
