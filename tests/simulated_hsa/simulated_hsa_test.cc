// SPDX-License-Identifier: Apache-2.0
//
// What the simulated HSA runtime promises, seen through the real HIP runtime.

#include "simulated_hsa/simulated_hsa.h"

#include <dlfcn.h>
#include <hsa/hsa.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/hip_testing.h"
#include "gtest/gtest.h"
#include "hip/hip_runtime_api.h"

namespace {

using hip_stream_pool::kHipCrashesOnDeadStreams;
using hip_stream_pool::kHipCrashesWithoutAQueue;
using simulated_hsa::Control;
using simulated_hsa::Counters;
using simulated_hsa::HardwareQueue;
using simulated_hsa::Model;
using simulated_hsa::QueuePriority;
using simulated_hsa::ScopedHold;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr size_t kMiB = size_t{1} << 20;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasSanitizer = true;
#elif defined(__has_feature)
constexpr bool kHasSanitizer =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kHasSanitizer = false;
#endif

template <typename Function>
Function HsaCall(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

class SimulatedHsaTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(simulated_hsa::Get(), nullptr);
    control_ = simulated_hsa::Get();
    ASSERT_HIP(hipSetDevice(0));
  }

  void TearDown() override {
    control_->Release();
    control_->SetModel({});
    control_->FailQueueCreate(Control::kNone);
    control_->FailAllocate(Control::kNone);
  }

  // The first stream of a device brings much that stays: kernels, queues and
  // pools of the HIP runtime.
  static void WarmUp(int device) {
    ASSERT_HIP(hipSetDevice(device));
    hipStream_t stream;
    ASSERT_HIP(hipStreamCreate(&stream));
    void* memory;
    ASSERT_HIP(hipMalloc(&memory, 64));
    ASSERT_HIP(hipMemsetAsync(memory, 0, 64, stream));
    ASSERT_HIP(hipStreamSynchronize(stream));
    ASSERT_HIP(hipFree(memory));
    ASSERT_HIP(hipStreamDestroy(stream));
    ASSERT_HIP(hipDeviceSynchronize());
  }

  Control* control_ = nullptr;
};

// A stream of the current device for a scope.
class Stream {
 public:
  explicit Stream(unsigned int flags = hipStreamNonBlocking, int priority = 0) {
    EXPECT_HIP(hipStreamCreateWithPriority(&stream_, flags, priority));
  }
  ~Stream() { EXPECT_HIP(hipStreamDestroy(stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator hipStream_t() const { return stream_; }  // NOLINT: as HIP's

 private:
  hipStream_t stream_ = nullptr;
};

// Memory of the current device, or pinned memory of the host, for a scope.
class Memory {
 public:
  enum class Place { kDevice, kHost };

  Memory(Place place, size_t size) : place_(place) {
    EXPECT_HIP(place == Place::kDevice ? hipMalloc(&data_, size)
                                       : hipHostMalloc(&data_, size, 0));
  }
  ~Memory() {
    EXPECT_HIP(place_ == Place::kDevice ? hipFree(data_) : hipHostFree(data_));
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  char* data() const { return static_cast<char*>(data_); }

 private:
  const Place place_;
  void* data_ = nullptr;
};

constexpr auto kDevice = Memory::Place::kDevice;
constexpr auto kHost = Memory::Place::kHost;

// Bytes that are seldom the same at two places.
std::vector<char> Pattern(size_t size, uint32_t seed) {
  std::vector<char> bytes(size);
  for (char& byte : bytes) {
    seed = seed * 1664525 + 1013904223;
    byte = static_cast<char>(seed >> 24);
  }
  return bytes;
}

std::vector<char> ReadBack(const char* device_memory, size_t size) {
  std::vector<char> bytes(size);
  EXPECT_HIP(
      hipMemcpy(bytes.data(), device_memory, size, hipMemcpyDeviceToHost));
  return bytes;
}

// Opened once; waits for that in as many callbacks as there are.
class Latch {
 public:
  void Open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

void WaitForLatch(hipStream_t, hipError_t, void* latch) {
  static_cast<Latch*>(latch)->Wait();
}

// Opens it when the scope ends, so that a test that stops early ends.
class OpenAtEnd {
 public:
  explicit OpenAtEnd(Latch* latch) : latch_(latch) {}
  ~OpenAtEnd() { latch_->Open(); }
  OpenAtEnd(const OpenAtEnd&) = delete;
  OpenAtEnd& operator=(const OpenAtEnd&) = delete;

 private:
  Latch* latch_;
};

double Us(std::chrono::duration<double, std::micro> time) {
  return time.count();
}

template <typename Work>
double TimeOfUs(Work&& work) {
  const Clock::time_point start = Clock::now();
  work();
  return Us(Clock::now() - start);
}

microseconds ProcessorTime() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto sum = [](const timeval& a, const timeval& b) {
    return std::chrono::seconds(a.tv_sec + b.tv_sec) +
           microseconds(a.tv_usec + b.tv_usec);
  };
  return sum(usage.ru_utime, usage.ru_stime);
}

// Which hardware queues a kernel and a barrier on `stream` reach.
std::vector<int64_t> QueuesOf(Control* control, hipStream_t stream,
                              char* memory) {
  const auto before = control->ReadQueues();
  EXPECT_HIP(hipMemsetAsync(memory, 1, 64, stream));
  EXPECT_HIP(hipStreamSynchronize(stream));
  return simulated_hsa::QueuesReached(before, control->ReadQueues());
}

HardwareQueue QueueWithNumber(Control* control, int64_t number) {
  for (const HardwareQueue& queue : control->ReadQueues()) {
    if (queue.number == number) return queue;
  }
  ADD_FAILURE() << "no queue " << number;
  return {};
}

TEST_F(SimulatedHsaTest, HipListsEveryDeviceAndNamesItSimulated) {
  int count = 0;
  ASSERT_HIP(hipGetDeviceCount(&count));
  EXPECT_EQ(count, control_->DeviceCount());
  for (int device = 0; device < count; ++device) {
    hipDeviceProp_t properties = {};
    ASSERT_HIP(hipGetDeviceProperties(&properties, device));
    EXPECT_STREQ(properties.name, "Simulated gfx90a");
    EXPECT_EQ(std::string(properties.gcnArchName).substr(0, 6), "gfx90a");
  }
}

TEST_F(SimulatedHsaTest, DescribesItsModelInOneLine) {
  Model model;
  model.copy = microseconds(7);
  model.queue_create = std::chrono::nanoseconds(2500);
  control_->SetModel(model);
  EXPECT_EQ(
      control_->Describe(),
      std::to_string(control_->DeviceCount()) +
          " devices, copy 7 us, dispatch 0 us, queue create 2.5 us, queue "
          "destroy 0 us, allocate 0 us, free 0 us, signal create 0 us, "
          "signal destroy 0 us");
}

TEST_F(SimulatedHsaTest, CopiesMoveTheBytesBothWaysFromAnyHostMemory) {
  const Stream stream;
  for (const size_t size :
       {size_t{1}, size_t{64}, size_t{4097}, 5 * kMiB + 3}) {
    SCOPED_TRACE(size);
    const std::vector<char> bytes = Pattern(size, 1);
    const Memory pinned(kHost, size);
    const Memory device(kDevice, size);
    std::vector<char> back(size);

    ASSERT_HIP(hipMemcpyAsync(device.data(), bytes.data(), size,
                              hipMemcpyHostToDevice, stream));
    ASSERT_HIP(hipMemcpyAsync(pinned.data(), device.data(), size,
                              hipMemcpyDeviceToHost, stream));
    ASSERT_HIP(hipStreamSynchronize(stream));
    EXPECT_EQ(std::memcmp(pinned.data(), bytes.data(), size), 0);

    const std::vector<char> others = Pattern(size, 2);
    std::copy(others.begin(), others.end(), pinned.data());
    ASSERT_HIP(hipMemcpyAsync(device.data(), pinned.data(), size,
                              hipMemcpyHostToDevice, stream));
    ASSERT_HIP(hipMemcpyAsync(back.data(), device.data(), size,
                              hipMemcpyDeviceToHost, stream));
    ASSERT_HIP(hipStreamSynchronize(stream));
    EXPECT_EQ(back, others);
  }
}

TEST_F(SimulatedHsaTest, CopiesMoveTheBytesWithinADevice) {
  const Stream stream;
  const Memory from(kDevice, kMiB);
  const Memory to(kDevice, kMiB);
  const std::vector<char> bytes = Pattern(kMiB, 3);
  ASSERT_HIP(hipMemcpy(from.data(), bytes.data(), kMiB, hipMemcpyHostToDevice));
  struct Case {
    size_t from, to, size;
  };
  for (const auto& [from_offset, to_offset, size] :
       {Case{0, 0, kMiB}, Case{16, 32, 4096}, Case{1, 2, 403}, Case{7, 9, 3}}) {
    SCOPED_TRACE(size);
    ASSERT_HIP(hipMemsetAsync(to.data(), 0, kMiB, stream));
    ASSERT_HIP(hipMemcpyAsync(to.data() + to_offset, from.data() + from_offset,
                              size, hipMemcpyDeviceToDevice, stream));
    ASSERT_HIP(hipStreamSynchronize(stream));
    std::vector<char> expected(kMiB, 0);
    std::copy_n(bytes.begin() + from_offset, size,
                expected.begin() + to_offset);
    EXPECT_EQ(ReadBack(to.data(), kMiB), expected);
  }
}

TEST_F(SimulatedHsaTest, CopiesMoveTheBytesBetweenDevices) {
  if (control_->DeviceCount() < 2) GTEST_SKIP() << "one device";
  const std::vector<char> bytes = Pattern(kMiB, 4);
  const Stream stream;
  const Memory from(kDevice, kMiB);
  ASSERT_HIP(hipMemcpy(from.data(), bytes.data(), kMiB, hipMemcpyHostToDevice));
  ASSERT_HIP(hipSetDevice(1));
  const Memory to(kDevice, kMiB);
  ASSERT_HIP(hipMemset(to.data(), 0, kMiB));
  ASSERT_HIP(hipDeviceSynchronize());
  ASSERT_HIP(
      hipMemcpyPeerAsync(to.data(), 1, from.data(), 0, kMiB / 2, stream));
  ASSERT_HIP(hipMemcpyAsync(to.data() + kMiB / 2, from.data() + kMiB / 2,
                            kMiB / 2, hipMemcpyDeviceToDevice, stream));
  ASSERT_HIP(hipStreamSynchronize(stream));
  EXPECT_EQ(ReadBack(to.data(), kMiB), bytes);
}

TEST_F(SimulatedHsaTest, RectangularCopiesMoveTheRectangleAndNothingElse) {
  constexpr size_t kSize = 4096;
  constexpr size_t kHeight = 3;
  struct Case {  // by copy engine or kernel, which depends on the alignment
    size_t from, from_pitch, to, to_pitch, width;
  };
  constexpr Case kCases[] = {{3, 515, 1, 257, 49}, {16, 512, 4, 256, 48}};
  const Stream stream;
  const std::vector<char> bytes = Pattern(kSize, 5);
  const Memory pinned(kHost, kSize);
  const Memory from(kDevice, kSize);
  const Memory to(kDevice, kSize);
  std::copy(bytes.begin(), bytes.end(), pinned.data());
  ASSERT_HIP(
      hipMemcpy(from.data(), bytes.data(), kSize, hipMemcpyHostToDevice));
  for (const Case& box : kCases) {
    std::vector<char> expected(kSize, 0);
    for (size_t y = 0; y < kHeight; ++y) {
      std::copy_n(bytes.begin() + box.from + y * box.from_pitch, box.width,
                  expected.begin() + box.to + y * box.to_pitch);
    }
    for (const bool from_host : {false, true}) {
      SCOPED_TRACE(testing::Message() << box.from << " host " << from_host);
      ASSERT_HIP(hipMemsetAsync(to.data(), 0, kSize, stream));
      ASSERT_HIP(hipMemcpy2DAsync(
          to.data() + box.to, box.to_pitch,
          (from_host ? pinned : from).data() + box.from, box.from_pitch,
          box.width, kHeight,
          from_host ? hipMemcpyHostToDevice : hipMemcpyDeviceToDevice, stream));
      ASSERT_HIP(hipStreamSynchronize(stream));
      EXPECT_EQ(ReadBack(to.data(), kSize), expected);
    }
  }
}

TEST_F(SimulatedHsaTest, FillsWriteTheirBytesAndNothingElse) {
  constexpr size_t kSize = 8192;
  const Stream stream;
  const Memory memory(kDevice, kSize);
  // Fewer than 16 bytes from an odd address are left out: HIP 5.2 then fills
  // almost all of the address space.
  for (const auto& [offset, size] :
       {std::pair<size_t, size_t>{0, kSize}, {1, 4096}, {4, 402}, {16, 1}}) {
    SCOPED_TRACE(size);
    ASSERT_HIP(hipMemsetAsync(memory.data(), 0x11, kSize, stream));
    ASSERT_HIP(hipMemsetAsync(memory.data() + offset, 0x22, size, stream));
    ASSERT_HIP(hipStreamSynchronize(stream));
    std::vector<char> expected(kSize, 0x11);
    std::fill_n(expected.begin() + offset, size, 0x22);
    EXPECT_EQ(ReadBack(memory.data(), kSize), expected);
  }
  ASSERT_HIP(hipMemsetD32Async(memory.data(), 0x01020304, 5, stream));
  ASSERT_HIP(hipStreamSynchronize(stream));
  EXPECT_EQ(ReadBack(memory.data(), 8),
            (std::vector<char>{4, 3, 2, 1, 4, 3, 2, 1}));
}

TEST_F(SimulatedHsaTest, HostCallbacksRunInTheOrderOfTheStream) {
  const Stream stream;
  std::vector<int> order;
  struct Entry {
    std::vector<int>* order;
    int number;
  };
  std::vector<Entry> entries;
  for (int i = 0; i < 20; ++i) entries.push_back({&order, i});
  for (Entry& entry : entries) {
    ASSERT_HIP(hipStreamAddCallback(
        stream,
        [](hipStream_t, hipError_t status, void* data) {
          EXPECT_EQ(status, hipSuccess);
          const auto& entry = *static_cast<Entry*>(data);
          entry.order->push_back(entry.number);
        },
        &entry, 0));
  }
  ASSERT_HIP(hipStreamSynchronize(stream));
  std::vector<int> expected(20);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST_F(SimulatedHsaTest, LaunchedHostFunctionsRunWhereHipHasThem) {
  // The library of HIP 5.2 lacks it, though its header declares it.
  using Launch = hipError_t (*)(hipStream_t, void (*)(void*), void*);
  const auto launch =
      reinterpret_cast<Launch>(dlsym(RTLD_DEFAULT, "hipLaunchHostFunc"));
  if (launch == nullptr) GTEST_SKIP() << "no hipLaunchHostFunc";
  const Stream stream;
  std::atomic<int> runs{0};
  ASSERT_HIP(launch(
      stream, [](void* runs) { ++*static_cast<std::atomic<int>*>(runs); },
      &runs));
  ASSERT_HIP(hipStreamSynchronize(stream));
  EXPECT_EQ(runs, 1);
}

TEST_F(SimulatedHsaTest, AStreamIsBusyUntilItsCallbackReturns) {
  Latch latch;
  const Stream stream;
  const OpenAtEnd open(&latch);
  ASSERT_HIP(hipStreamAddCallback(stream, WaitForLatch, &latch, 0));
  EXPECT_EQ(hipStreamQuery(stream), hipErrorNotReady);
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(hipStreamQuery(stream), hipErrorNotReady);
  latch.Open();
  EXPECT_HIP(hipStreamSynchronize(stream));
}

TEST_F(SimulatedHsaTest, AnEventMakesAnotherStreamWait) {
  const Stream first;
  const Stream second;
  const Memory source(kHost, kMiB);
  const Memory device(kDevice, kMiB);
  hipEvent_t event;
  ASSERT_HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  {
    const ScopedHold hold(control_);
    ASSERT_HIP(hipMemcpyAsync(device.data(), source.data(), kMiB,
                              hipMemcpyHostToDevice, first));
    ASSERT_HIP(hipEventRecord(event, first));
    ASSERT_HIP(hipStreamWaitEvent(second, event, 0));
    std::atomic<bool> ran{false};
    ASSERT_HIP(hipStreamAddCallback(
        second,
        [](hipStream_t, hipError_t, void* ran) {
          *static_cast<std::atomic<bool>*>(ran) = true;
        },
        &ran, 0));
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_EQ(hipEventQuery(event), hipErrorNotReady);
    EXPECT_FALSE(ran);
    control_->Release();
    ASSERT_HIP(hipStreamSynchronize(second));
    EXPECT_TRUE(ran);
  }
  EXPECT_HIP(hipEventQuery(event));
  ASSERT_HIP(hipEventDestroy(event));
}

TEST_F(SimulatedHsaTest, ACopyWaitsForTheKernelBeforeIt) {
  const Stream stream;
  const Memory pinned(kHost, kMiB);
  const Memory memory(kDevice, kMiB);
  std::fill_n(pinned.data(), kMiB, 1);
  Model model;
  model.dispatch = milliseconds(30);
  control_->SetModel(model);
  ASSERT_HIP(hipMemsetAsync(memory.data(), 2, kMiB, stream));
  ASSERT_HIP(hipMemcpyAsync(pinned.data(), memory.data(), kMiB,
                            hipMemcpyDeviceToHost, stream));
  ASSERT_HIP(hipStreamSynchronize(stream));
  EXPECT_EQ(std::count(pinned.data(), pinned.data() + kMiB, 2),
            static_cast<int64_t>(kMiB));
}

TEST_F(SimulatedHsaTest, EventsMeasureTheTimeOfTheWorkBetweenThem) {
  Model model;
  model.dispatch = milliseconds(20);
  const Stream stream;
  const Memory memory(kDevice, 64);
  hipEvent_t start, stop;
  ASSERT_HIP(hipEventCreate(&start));
  ASSERT_HIP(hipEventCreate(&stop));
  control_->SetModel(model);
  ASSERT_HIP(hipEventRecord(start, stream));
  ASSERT_HIP(hipMemsetAsync(memory.data(), 0, 64, stream));
  ASSERT_HIP(hipEventRecord(stop, stream));
  ASSERT_HIP(hipEventSynchronize(stop));
  float elapsed_ms = 0;
  ASSERT_HIP(hipEventElapsedTime(&elapsed_ms, start, stop));
  EXPECT_GE(elapsed_ms, 19);
  EXPECT_LT(elapsed_ms, 100);
  ASSERT_HIP(hipEventDestroy(start));
  ASSERT_HIP(hipEventDestroy(stop));
}

TEST_F(SimulatedHsaTest, CapturedWorkRunsWhenItsGraphIsLaunched) {
  const Stream stream;
  const Memory memory(kDevice, 4096);
  ASSERT_HIP(hipMemset(memory.data(), 0, 4096));
  hipGraph_t graph;
  ASSERT_HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  hipStreamCaptureStatus status;
  ASSERT_HIP(hipStreamIsCapturing(stream, &status));
  EXPECT_EQ(status, hipStreamCaptureStatusActive);
  ASSERT_HIP(hipMemsetAsync(memory.data(), 7, 4096, stream));
  ASSERT_HIP(hipStreamEndCapture(stream, &graph));
  EXPECT_EQ(ReadBack(memory.data(), 4096), std::vector<char>(4096, 0));

  hipGraphExec_t executable;
  ASSERT_HIP(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  ASSERT_HIP(hipGraphLaunch(executable, stream));
  ASSERT_HIP(hipStreamSynchronize(stream));
  EXPECT_EQ(ReadBack(memory.data(), 4096), std::vector<char>(4096, 7));
  ASSERT_HIP(hipGraphExecDestroy(executable));
  ASSERT_HIP(hipGraphDestroy(graph));
}

TEST_F(SimulatedHsaTest, MallocAsyncGivesMemoryThatCopiesReach) {
  int supported = 0;
  if (hipDeviceGetAttribute(&supported, hipDeviceAttributeMemoryPoolsSupported,
                            0) != hipSuccess ||
      supported == 0) {
    GTEST_SKIP() << "no memory pools";
  }
  const Stream stream;
  void* memory = nullptr;
  ASSERT_HIP(hipMallocAsync(&memory, kMiB, stream));
  const std::vector<char> bytes = Pattern(kMiB, 6);
  std::vector<char> back(kMiB);
  ASSERT_HIP(hipMemcpyAsync(memory, bytes.data(), kMiB, hipMemcpyHostToDevice,
                            stream));
  ASSERT_HIP(
      hipMemcpyAsync(back.data(), memory, kMiB, hipMemcpyDeviceToHost, stream));
  ASSERT_HIP(hipFreeAsync(memory, stream));
  ASSERT_HIP(hipStreamSynchronize(stream));
  EXPECT_EQ(back, bytes);
}

// Kernels do nothing, so what a program reads where one should have written
// must not depend on what the memory was used for before.
TEST_F(SimulatedHsaTest, NewMemoryReadsAsZeros) {
  for (const Memory::Place place : {kDevice, kHost}) {
    for (const size_t size : {size_t{100}, kMiB}) {
      for (int i = 0; i < 3; ++i) {
        const Memory memory(place, size);
        EXPECT_EQ(ReadBack(memory.data(), size), std::vector<char>(size, 0));
        ASSERT_HIP(hipMemset(memory.data(), 7, size));
        ASSERT_HIP(hipDeviceSynchronize());
      }
    }
  }
}

// HIP before 7 does not use these, and older headers do not declare them.
template <typename... Parameters>
int CallHsa(const char* name, Parameters... parameters) {
  const auto function =
      reinterpret_cast<int (*)(Parameters...)>(dlsym(RTLD_DEFAULT, name));
  return function == nullptr ? -1 : function(parameters...);
}

class VirtualMemoryTest : public SimulatedHsaTest {
 protected:
  static constexpr size_t kAlignment = 2 * kMiB;

  static char* Reserve(size_t size) {
    void* address = nullptr;
    EXPECT_EQ(CallHsa("hsa_amd_vmem_address_reserve_align", &address, size,
                      uint64_t{0}, uint64_t{kAlignment}, uint64_t{0}),
              0);
    return static_cast<char*>(address);
  }
  static int Free(void* address, size_t size) {
    return CallHsa("hsa_amd_vmem_address_free", address, size);
  }
  static int Create(size_t size, uint64_t* handle) {
    return CallHsa("hsa_amd_vmem_handle_create", uint64_t{0}, size, 0,
                   uint64_t{0}, handle);
  }
  static int Release(uint64_t handle) {
    return CallHsa("hsa_amd_vmem_handle_release", handle);
  }
  static int Map(void* address, size_t size, uint64_t handle) {
    return CallHsa("hsa_amd_vmem_map", address, size, size_t{0}, handle,
                   uint64_t{0});
  }
  static int Unmap(void* address, size_t size) {
    return CallHsa("hsa_amd_vmem_unmap", address, size);
  }
};

TEST_F(VirtualMemoryTest, MemoryKeepsItsBytesFromOneAddressToTheNext) {
  const Counters before = control_->ReadCounters();
  char* const first = Reserve(2 * kMiB);
  char* const second = Reserve(kMiB);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % kAlignment, 0u);
  uint64_t handle = 0;
  ASSERT_EQ(Create(kMiB, &handle), 0);
  EXPECT_EQ(control_->ReadCounters().live_bytes,
            before.live_bytes + static_cast<int64_t>(kMiB));
  ASSERT_EQ(Map(first + kMiB, kMiB, handle), 0);
  EXPECT_EQ(std::count(first + kMiB, first + 2 * kMiB, 0),
            static_cast<int64_t>(kMiB));
  std::fill_n(first + kMiB, kMiB, 5);
  ASSERT_EQ(Unmap(first + kMiB, kMiB), 0);
  ASSERT_EQ(Map(second, kMiB, handle), 0);
  ASSERT_EQ(Release(handle), 0);
  EXPECT_EQ(std::count(second, second + kMiB, 5), static_cast<int64_t>(kMiB));
  ASSERT_EQ(Unmap(second, kMiB), 0);
  EXPECT_EQ(control_->ReadCounters().live_bytes, before.live_bytes);
  EXPECT_EQ(Free(first, 2 * kMiB), 0);
  EXPECT_EQ(Free(second, kMiB), 0);
}

TEST_F(VirtualMemoryTest, AMappingKnowsItsHandleAndItsAccess) {
  struct {
    int permission;
    uint64_t agent;
  } access = {3, 2};  // HSA_ACCESS_PERMISSION_RW, the first GPU
  char* const address = Reserve(kMiB);
  uint64_t handle = 0, retained = 0;
  ASSERT_EQ(Create(kMiB, &handle), 0);
  ASSERT_EQ(Map(address, kMiB, handle), 0);
  int permission = 0;
  EXPECT_NE(CallHsa("hsa_amd_vmem_get_access", static_cast<void*>(address),
                    &permission, access.agent),
            0);
  ASSERT_EQ(CallHsa("hsa_amd_vmem_set_access", static_cast<void*>(address),
                    kMiB, &access, size_t{1}),
            0);
  ASSERT_EQ(CallHsa("hsa_amd_vmem_get_access", static_cast<void*>(address),
                    &permission, access.agent),
            0);
  EXPECT_EQ(permission, access.permission);
  ASSERT_EQ(Release(handle), 0);
  ASSERT_EQ(CallHsa("hsa_amd_vmem_retain_alloc_handle", &retained,
                    static_cast<void*>(address + 100)),
            0);
  EXPECT_EQ(retained, handle);
  EXPECT_EQ(Release(retained), 0);
  EXPECT_NE(Release(retained), 0);
  EXPECT_EQ(Unmap(address, kMiB), 0);
  EXPECT_EQ(Free(address, kMiB), 0);
}

TEST_F(VirtualMemoryTest, RefusesWhatDoesNotFit) {
  char* const address = Reserve(kMiB);
  uint64_t handle = 0;
  control_->FailAllocate(1);
  EXPECT_NE(Create(kMiB, &handle), 0);
  ASSERT_EQ(Create(kMiB, &handle), 0);
  EXPECT_NE(Map(address, kMiB / 2, handle), 0);
  EXPECT_NE(Map(address + 4096, kMiB, handle), 0);
  EXPECT_NE(Map(address, kMiB, handle + 1), 0);
  ASSERT_EQ(Map(address, kMiB, handle), 0);
  EXPECT_NE(Map(address, kMiB, handle), 0);
  EXPECT_NE(Free(address, kMiB), 0);
  EXPECT_NE(Unmap(address, kMiB / 2), 0);
  EXPECT_EQ(Unmap(address, kMiB), 0);
  EXPECT_NE(Unmap(address, kMiB), 0);
  EXPECT_NE(Free(address, kMiB / 2), 0);
  EXPECT_EQ(Free(address, kMiB), 0);
  EXPECT_EQ(Release(handle), 0);
}

TEST_F(SimulatedHsaTest, DeviceResetDestroysTheDevicesStreams) {
  WarmUp(0);
  ASSERT_HIP(hipDeviceReset());
  const Counters before = control_->ReadCounters();
  hipStream_t stream;
  ASSERT_HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  ASSERT_HIP(hipStreamSynchronize(stream));
  EXPECT_GT(control_->ReadCounters().live_bytes, before.live_bytes);
  ASSERT_HIP(hipDeviceReset());
  EXPECT_EQ(control_->ReadCounters().live_bytes, before.live_bytes);
  if (!kHipCrashesOnDeadStreams) {
    EXPECT_NE(hipStreamQuery(stream), hipSuccess);
  }
  WarmUp(0);  // the device still works
}

TEST_F(SimulatedHsaTest, AStreamWithACuMaskHasAQueueOfItsOwn) {
  const Memory memory(kDevice, 64);
  const uint32_t mask[] = {0x0000ffff, 0};
  hipStream_t masked;
  ASSERT_HIP(hipExtStreamCreateWithCUMask(&masked, 2, mask));
  const auto reached = QueuesOf(control_, masked, memory.data());
  ASSERT_EQ(reached.size(), 1u);
  EXPECT_TRUE(QueueWithNumber(control_, reached[0]).has_cu_mask);

  const Stream plain;
  const auto reached_by_plain = QueuesOf(control_, plain, memory.data());
  ASSERT_EQ(reached_by_plain.size(), 1u);
  EXPECT_NE(reached_by_plain[0], reached[0]);
  EXPECT_FALSE(QueueWithNumber(control_, reached_by_plain[0]).has_cu_mask);
  ASSERT_HIP(hipStreamDestroy(masked));
}

TEST_F(SimulatedHsaTest, EachPriorityHasAtMostFourQueuesOfItsOwn) {
  const Memory memory(kDevice, 64);
  const std::map<int, QueuePriority> priorities = {{-1, QueuePriority::kHigh},
                                                   {0, QueuePriority::kNormal},
                                                   {1, QueuePriority::kLow}};
  std::vector<std::unique_ptr<Stream>> streams;
  std::map<int, std::set<int64_t>> queues;
  for (const auto& [priority, queue_priority] : priorities) {
    for (int i = 0; i < 10; ++i) {
      streams.push_back(
          std::make_unique<Stream>(hipStreamNonBlocking, priority));
      const auto reached = QueuesOf(control_, *streams.back(), memory.data());
      ASSERT_EQ(reached.size(), 1u);
      const HardwareQueue queue = QueueWithNumber(control_, reached[0]);
      EXPECT_EQ(queue.priority, queue_priority);
      EXPECT_EQ(queue.device, 0);
      queues[priority].insert(queue.number);
    }
    EXPECT_EQ(queues[priority].size(), 4u) << "priority " << priority;
  }
}

TEST_F(SimulatedHsaTest, StreamsKeepTheirFlagsAndPriority) {
  for (const unsigned int flags : {hipStreamDefault, hipStreamNonBlocking}) {
    for (const int priority : {-1, 0, 1}) {
      const Stream stream(flags, priority);
      unsigned int read_flags = 99;
      int read_priority = 99;
      EXPECT_HIP(hipStreamGetFlags(stream, &read_flags));
      EXPECT_HIP(hipStreamGetPriority(stream, &read_priority));
      EXPECT_EQ(read_flags, flags);
      EXPECT_EQ(read_priority, priority);
      EXPECT_HIP(hipStreamQuery(stream));
    }
  }
}

TEST_F(SimulatedHsaTest, CountersTellWhatWasDone) {
  WarmUp(0);
  const Memory pinned(kHost, kMiB);
  const Counters start = control_->ReadCounters();
  void* memory;
  ASSERT_HIP(hipMalloc(&memory, kMiB));
  const Counters allocated = control_->ReadCounters();
  EXPECT_EQ(allocated.allocations, start.allocations + 1);
  EXPECT_EQ(allocated.live_bytes,
            start.live_bytes + static_cast<int64_t>(kMiB));
  EXPECT_GT(allocated.driver_calls(), start.driver_calls());
  {
    const Stream stream;
    const Counters created = control_->ReadCounters();
    EXPECT_GT(created.signals_created, allocated.signals_created);
    ASSERT_HIP(hipMemsetAsync(memory, 0, kMiB, stream));
    ASSERT_HIP(hipStreamSynchronize(stream));
    const Counters filled = control_->ReadCounters();
    EXPECT_EQ(filled.dispatches, created.dispatches + 1);
    ASSERT_HIP(hipMemcpyAsync(memory, pinned.data(), kMiB,
                              hipMemcpyHostToDevice, stream));
    ASSERT_HIP(hipStreamSynchronize(stream));
    const Counters copied = control_->ReadCounters();
    EXPECT_EQ(copied.copies, filled.copies + 1);
    EXPECT_EQ(copied.copied_bytes,
              filled.copied_bytes + static_cast<int64_t>(kMiB));
  }
  ASSERT_HIP(hipFree(memory));
  const Counters end = control_->ReadCounters();
  EXPECT_EQ(end.frees - start.frees, end.allocations - start.allocations);
}

TEST_F(SimulatedHsaTest, NothingStaysAfterStreamsAndMemoryAreDestroyed) {
  constexpr int kCycles = 5;
  constexpr int kStreams = 8;
  const auto cycle = [&] {
    std::vector<std::unique_ptr<Stream>> streams;
    const Memory memory(kDevice, kMiB);
    for (int i = 0; i < kStreams; ++i) {
      streams.push_back(std::make_unique<Stream>());
      EXPECT_HIP(hipMemsetAsync(memory.data(), i, kMiB, *streams.back()));
    }
    for (const auto& stream : streams) {
      EXPECT_HIP(hipStreamSynchronize(*stream));
    }
  };
  cycle();
  const Counters before = control_->ReadCounters();
  for (int i = 0; i < kCycles; ++i) cycle();
  const Counters after = control_->ReadCounters();
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_EQ(after.live_allocations(), before.live_allocations());
  EXPECT_EQ(after.live_queues(), before.live_queues());
  // To 5.7 HIP itself loses a signal with each stream that it destroys.
  EXPECT_LE(after.live_signals(), before.live_signals() + kCycles * kStreams);
}

TEST_F(SimulatedHsaTest, TheMemoryOfTheProcessStaysFlat) {
  if (kHasSanitizer) GTEST_SKIP() << "sanitizers use memory of their own";
  const auto resident_bytes = [] {
    std::ifstream statistics("/proc/self/statm");
    int64_t total = 0, resident = 0;
    statistics >> total >> resident;
    return resident * sysconf(_SC_PAGESIZE);
  };
  const Memory pinned(kHost, kMiB);
  const auto cycle = [&] {
    const Stream stream;
    const Memory memory(kDevice, kMiB);
    EXPECT_HIP(hipMemcpyAsync(memory.data(), pinned.data(), kMiB,
                              hipMemcpyHostToDevice, stream));
    EXPECT_HIP(hipStreamSynchronize(stream));
  };
  for (int i = 0; i < 50; ++i) cycle();
  const int64_t before = resident_bytes();
  for (int i = 0; i < 500; ++i) cycle();
  // The smallest buffer that could be lost is a MiB, a cycle; malloc itself may
  // take a few more, depending on which threads meet.
  EXPECT_LT(resident_bytes() - before, static_cast<int64_t>(32 * kMiB));
}

TEST_F(SimulatedHsaTest, CopiesAndKernelsTakeTheModelsTime) {
  const Stream stream;
  const Memory pinned(kHost, kMiB);
  const Memory memory(kDevice, kMiB);
  Model model;
  model.copy = milliseconds(30);
  model.dispatch = milliseconds(15);
  control_->SetModel(model);
  const auto copy_time = TimeOfUs([&] {
    ASSERT_HIP(hipMemcpyAsync(memory.data(), pinned.data(), kMiB,
                              hipMemcpyHostToDevice, stream));
    ASSERT_HIP(hipStreamSynchronize(stream));
  });
  EXPECT_GE(copy_time, Us(model.copy));
  const auto dispatch_time = TimeOfUs([&] {
    for (int i = 0; i < 3; ++i) {
      ASSERT_HIP(hipMemsetAsync(memory.data(), 0, 64, stream));
    }
    ASSERT_HIP(hipStreamSynchronize(stream));
  });
  EXPECT_GE(dispatch_time, Us(3 * model.dispatch));
}

TEST_F(SimulatedHsaTest, QueuesDoTheirKernelsAtTheSameTime) {
  const Stream first;
  const Stream second;
  const Memory memory(kDevice, 64);
  ASSERT_NE(QueuesOf(control_, first, memory.data()),
            QueuesOf(control_, second, memory.data()));
  Model model;
  model.dispatch = milliseconds(100);
  control_->SetModel(model);
  const auto time = TimeOfUs([&] {
    ASSERT_HIP(hipMemsetAsync(memory.data(), 0, 64, first));
    ASSERT_HIP(hipMemsetAsync(memory.data(), 0, 64, second));
    ASSERT_HIP(hipStreamSynchronize(first));
    ASSERT_HIP(hipStreamSynchronize(second));
  });
  EXPECT_GE(time, Us(model.dispatch));
  EXPECT_LT(time, Us(2 * model.dispatch));
}

TEST_F(SimulatedHsaTest, ADriverCallTakesTheModelsTimeAndLittleMore) {
  WarmUp(0);
  const auto fastest_allocation = [] {
    double fastest = 1e9;
    for (int i = 0; i < 100; ++i) {
      void* memory = nullptr;
      fastest = std::min(
          fastest, TimeOfUs([&] { EXPECT_HIP(hipMalloc(&memory, 1 << 16)); }));
      EXPECT_HIP(hipFree(memory));
    }
    return fastest;
  };
  const auto without = fastest_allocation();
  for (const microseconds cost : {microseconds(5), microseconds(400)}) {
    SCOPED_TRACE(cost.count());
    Model model;
    model.allocate = cost;
    control_->SetModel(model);
    const auto with = fastest_allocation();
    EXPECT_GE(with, Us(cost));
    EXPECT_LT(with, without + Us(cost) + 20);
  }
}

TEST_F(SimulatedHsaTest, MakingAndDroppingAQueueTakeTheModelsTime) {
  WarmUp(0);
  Model model;
  model.queue_create = milliseconds(30);
  model.queue_destroy = milliseconds(20);
  control_->SetModel(model);
  const uint32_t mask[] = {1, 0};
  hipStream_t stream;
  EXPECT_GE(TimeOfUs([&] {
              ASSERT_HIP(hipExtStreamCreateWithCUMask(&stream, 2, mask));
            }),
            Us(model.queue_create));
  // HIP 5.7 destroys no queue, not even one with a mask.
  const Counters before = control_->ReadCounters();
  const double time = TimeOfUs([&] { ASSERT_HIP(hipStreamDestroy(stream)); });
  const Counters after = control_->ReadCounters();
  EXPECT_GE(time, Us(model.queue_destroy *
                     (after.queues_destroyed - before.queues_destroyed)));
}

TEST_F(SimulatedHsaTest, TheNthQueueCreationFailsOnce) {
  if (kHipCrashesWithoutAQueue) GTEST_SKIP() << "this HIP crashes";
  WarmUp(0);
  const uint32_t mask[] = {1, 0};  // a queue each
  control_->FailQueueCreate(2);
  hipStream_t first, second, third;
  EXPECT_HIP(hipExtStreamCreateWithCUMask(&first, 2, mask));
  EXPECT_EQ(hipExtStreamCreateWithCUMask(&second, 2, mask),
            hipErrorOutOfMemory);
  EXPECT_HIP(hipExtStreamCreateWithCUMask(&third, 2, mask));
  EXPECT_HIP(hipStreamDestroy(first));
  EXPECT_HIP(hipStreamDestroy(third));
}

TEST_F(SimulatedHsaTest, AllQueueCreationsFailUntilCleared) {
  if (kHipCrashesWithoutAQueue) GTEST_SKIP() << "this HIP crashes";
  WarmUp(0);
  const uint32_t mask[] = {1, 0};
  hipStream_t stream;
  control_->FailQueueCreate(Control::kAll);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(hipExtStreamCreateWithCUMask(&stream, 2, mask),
              hipErrorOutOfMemory);
  }
  control_->FailQueueCreate(Control::kNone);
  EXPECT_HIP(hipExtStreamCreateWithCUMask(&stream, 2, mask));
  EXPECT_HIP(hipStreamDestroy(stream));
}

TEST_F(SimulatedHsaTest, TheNthAllocationFailsOnce) {
  WarmUp(0);
  void* first = nullptr;
  void* second = nullptr;
  void* third = nullptr;
  control_->FailAllocate(2);
  EXPECT_HIP(hipMalloc(&first, kMiB));
  EXPECT_EQ(hipMalloc(&second, kMiB), hipErrorOutOfMemory);
  EXPECT_HIP(hipMalloc(&third, kMiB));
  EXPECT_HIP(hipFree(first));
  EXPECT_HIP(hipFree(third));
}

TEST_F(SimulatedHsaTest, AllAllocationsFailUntilCleared) {
  WarmUp(0);
  void* memory = nullptr;
  control_->FailAllocate(Control::kAll);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(hipMalloc(&memory, kMiB), hipErrorOutOfMemory);
  }
  control_->FailAllocate(Control::kNone);
  EXPECT_HIP(hipMalloc(&memory, kMiB));
  EXPECT_HIP(hipFree(memory));
}

TEST_F(SimulatedHsaTest, WhatIsHeldStaysBusyUntilReleased) {
  const Stream copying;
  const Stream computing;
  const Memory pinned(kHost, kMiB);
  const Memory memory(kDevice, kMiB);
  const Memory filled(kDevice, 64);
  const ScopedHold hold(control_);
  const Counters before = control_->ReadCounters();
  ASSERT_HIP(hipMemcpyAsync(memory.data(), pinned.data(), kMiB,
                            hipMemcpyHostToDevice, copying));
  ASSERT_HIP(hipMemsetAsync(filled.data(), 0, 64, computing));
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(hipStreamQuery(copying), hipErrorNotReady);
  EXPECT_EQ(hipStreamQuery(computing), hipErrorNotReady);
  EXPECT_EQ(control_->ReadCounters().copies, before.copies);
  EXPECT_EQ(control_->ReadCounters().dispatches, before.dispatches);
  control_->Release();
  EXPECT_HIP(hipStreamSynchronize(copying));
  EXPECT_HIP(hipStreamSynchronize(computing));
}

TEST_F(SimulatedHsaTest, ACopyThatHasToWaitHoldsUpNoOther) {
  const Stream blocked;
  const Stream same_direction;
  const Stream other_direction;
  const Memory pinned(kHost, 3 * kMiB);
  const Memory memory(kDevice, 3 * kMiB);
  Model model;
  model.dispatch = milliseconds(300);  // in front of the first copy
  control_->SetModel(model);
  ASSERT_HIP(hipMemsetAsync(memory.data(), 0, 64, blocked));
  ASSERT_HIP(hipMemcpyAsync(memory.data(), pinned.data(), kMiB,
                            hipMemcpyHostToDevice, blocked));
  const auto time = TimeOfUs([&] {
    ASSERT_HIP(hipMemcpyAsync(memory.data() + kMiB, pinned.data() + kMiB, kMiB,
                              hipMemcpyHostToDevice, same_direction));
    ASSERT_HIP(hipMemcpyAsync(pinned.data() + 2 * kMiB,
                              memory.data() + 2 * kMiB, kMiB,
                              hipMemcpyDeviceToHost, other_direction));
    ASSERT_HIP(hipStreamSynchronize(same_direction));
    ASSERT_HIP(hipStreamSynchronize(other_direction));
  });
  EXPECT_LT(time, Us(milliseconds(200)));
  EXPECT_EQ(hipStreamQuery(blocked), hipErrorNotReady);
  EXPECT_HIP(hipStreamSynchronize(blocked));
}

// As HIP 7 does, whose destroy of a stream does not wait for the packets that
// say which parts of its staging buffer are free.
TEST_F(SimulatedHsaTest, APacketMayCompleteASignalThatIsDestroyed) {
  const auto init = HsaCall<decltype(&hsa_init)>("hsa_init");
  const auto iterate =
      HsaCall<decltype(&hsa_iterate_agents)>("hsa_iterate_agents");
  const auto create =
      HsaCall<decltype(&hsa_signal_create)>("hsa_signal_create");
  const auto destroy =
      HsaCall<decltype(&hsa_signal_destroy)>("hsa_signal_destroy");
  const auto store = HsaCall<decltype(&hsa_signal_store_screlease)>(
      "hsa_signal_store_screlease");
  const auto load =
      HsaCall<decltype(&hsa_signal_load_relaxed)>("hsa_signal_load_relaxed");
  const auto wait = HsaCall<decltype(&hsa_signal_wait_scacquire)>(
      "hsa_signal_wait_scacquire");
  const auto new_signal = [&](hsa_signal_value_t value) {
    hsa_signal_t signal;
    EXPECT_EQ(create(value, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
    return signal;
  };
  ASSERT_EQ(init(), HSA_STATUS_SUCCESS);
  hsa_agent_t last = {};  // a GPU: the host comes first
  ASSERT_EQ(iterate(
                [](hsa_agent_t agent, void* found) {
                  *static_cast<hsa_agent_t*>(found) = agent;
                  return HSA_STATUS_SUCCESS;
                },
                &last),
            HSA_STATUS_SUCCESS);
  hsa_queue_t* queue;
  ASSERT_EQ(HsaCall<decltype(&hsa_queue_create)>("hsa_queue_create")(
                last, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue),
            HSA_STATUS_SUCCESS);

  const hsa_signal_t start = new_signal(1);
  const hsa_signal_t destroyed = new_signal(3);
  const hsa_signal_t end = new_signal(1);
  auto* const packets =
      static_cast<hsa_barrier_and_packet_t*>(queue->base_address);
  packets[0].dep_signal[0] = start;
  packets[0].completion_signal = packets[1].completion_signal = destroyed;
  packets[2].completion_signal = end;
  for (int i = 0; i < 3; ++i) {
    __atomic_store_n(
        &packets[i].header,
        uint16_t{HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE},
        __ATOMIC_RELEASE);
  }
  HsaCall<decltype(&hsa_queue_add_write_index_screlease)>(
      "hsa_queue_add_write_index_screlease")(queue, 3);
  store(queue->doorbell_signal, 2);
  ASSERT_EQ(destroy(destroyed), HSA_STATUS_SUCCESS);
  std::vector<hsa_signal_t> others;
  for (int i = 0; i < 100; ++i) others.push_back(new_signal(7));
  store(start, 0);
  EXPECT_EQ(
      wait(end, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED),
      0);
  for (const hsa_signal_t other : others) EXPECT_EQ(load(other), 7);

  for (const hsa_signal_t other : others) destroy(other);
  destroy(start);
  destroy(end);
  HsaCall<decltype(&hsa_queue_destroy)>("hsa_queue_destroy")(queue);
  HsaCall<decltype(&hsa_shut_down)>("hsa_shut_down")();
}

TEST_F(SimulatedHsaTest, EveryDeviceTakesEighteenStreamsAtOnce) {
  constexpr int kStreams = 18;
  const int devices = control_->DeviceCount();
  std::vector<std::thread> threads;
  for (int device = 0; device < devices; ++device) {
    threads.emplace_back([device] {
      ASSERT_HIP(hipSetDevice(device));
      std::vector<std::unique_ptr<Stream>> streams;
      const Memory memory(kDevice, kStreams * 4096);
      const Memory pinned(kHost, kStreams * 4096);
      const std::vector<char> bytes =
          Pattern(kStreams * 4096, static_cast<uint32_t>(device));
      std::copy(bytes.begin(), bytes.end(), pinned.data());
      for (int i = 0; i < kStreams; ++i) {
        streams.push_back(
            std::make_unique<Stream>(hipStreamNonBlocking, i % 3 - 1));
      }
      for (int i = 0; i < kStreams; ++i) {
        ASSERT_HIP(hipMemcpyAsync(memory.data() + i * 4096,
                                  pinned.data() + i * 4096, 4096,
                                  hipMemcpyHostToDevice, *streams[i]));
      }
      for (const auto& stream : streams) {
        ASSERT_HIP(hipStreamSynchronize(*stream));
      }
      EXPECT_EQ(ReadBack(memory.data(), kStreams * 4096), bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(SimulatedHsaTest, AThousandStreamsShareFourQueues) {
  WarmUp(0);
  const int64_t queues = control_->ReadCounters().live_queues();
  const Memory memory(kDevice, 64);
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 1024; ++i) streams.push_back(std::make_unique<Stream>());
  EXPECT_LE(control_->ReadCounters().live_queues(), queues + 4);
  for (const auto& stream : streams) {
    ASSERT_HIP(hipMemsetAsync(memory.data(), 0, 64, *stream));
  }
  ASSERT_HIP(hipDeviceSynchronize());
  for (const auto& stream : streams) EXPECT_HIP(hipStreamQuery(*stream));
}

TEST_F(SimulatedHsaTest, AnIdleProcessUsesNoProcessorTime) {
  for (int device = 0; device < control_->DeviceCount(); ++device) {
    WarmUp(device);
  }
  const Stream stream;
  const microseconds before = ProcessorTime();
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_LT(Us(ProcessorTime() - before), Us(milliseconds(2)));
}

TEST_F(SimulatedHsaTest, AHeldStreamUsesNoProcessorTime) {
  const Stream stream;
  const Memory pinned(kHost, kMiB);
  const Memory memory(kDevice, kMiB);
  const ScopedHold hold(control_);
  ASSERT_HIP(hipMemcpyAsync(memory.data(), pinned.data(), kMiB,
                            hipMemcpyHostToDevice, stream));
  ASSERT_HIP(hipMemsetAsync(memory.data(), 0, 64, stream));
  std::this_thread::sleep_for(milliseconds(20));
  const microseconds before = ProcessorTime();
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_LT(Us(ProcessorTime() - before), Us(milliseconds(2)));
  control_->Release();
  EXPECT_HIP(hipStreamSynchronize(stream));
}

}  // namespace
