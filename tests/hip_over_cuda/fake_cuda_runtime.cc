// SPDX-License-Identifier: Apache-2.0
//
// A CUDA runtime without a GPU, to test what stands over it: one device with an
// H200's priorities, and a thread for each stream that has had work. A stream
// that has been destroyed ends the program, where CUDA leaves undefined what
// happens.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "cuda_runtime.h"

struct CUgraph_st {
  size_t nodes = 0;
};

struct CUevent_st {
  std::shared_ptr<bool> reached = std::make_shared<bool>(true);
};

struct CUstream_st {
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;       // NOLINT(google-runtime-int)
  int synchronization_policy = 1;  // cudaSyncPolicyAuto
  int capture = 0;                 // none, active, invalidated
  CUgraph_st* graph = nullptr;
  std::deque<std::function<void()>> work = {};  // the first may be running
  bool has_thread = false;
};

namespace {

using namespace hip_over_cuda;  // NOLINT(google-build-using-namespace)

enum : cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorStreamCaptureUnsupported = 900,
};
constexpr int kGreatestPriority = -5;
constexpr int kSynchronizationPolicy = 3;  // the one attribute

// Outlives the threads, which go on until the process ends.
struct Gpu {
  std::mutex mutex;  // of all there is
  std::condition_variable changed;
  std::set<CUstream_st*> streams;
  unsigned long long last_id = 2;    // NOLINT(google-runtime-int)
  std::set<CUstream_st*> destroyed;  // and with a thread that still works
  std::mutex memory;                 // for one copy or fill at a time
  CUstream_st special_streams[3];    // the null, legacy and per-thread streams
};
Gpu& gpu = *new Gpu;
thread_local int capture_mode = 0;

using Lock = std::unique_lock<std::mutex>;

bool IsSpecial(cudaStream_t stream) {
  return reinterpret_cast<size_t>(stream) < 3;
}

CUstream_st& Look(cudaStream_t stream, const Lock&) {
  if (IsSpecial(stream)) {
    return gpu.special_streams[reinterpret_cast<size_t>(stream)];
  }
  if (gpu.streams.count(stream) == 0) {
    std::fprintf(stderr, "fake CUDA: no such stream\n");
    std::abort();
  }
  return *stream;
}

void Run(CUstream_st& stream) {
  Lock lock(gpu.mutex);
  for (;;) {
    gpu.changed.wait(lock, [&] {
      return !stream.work.empty() || gpu.destroyed.count(&stream) > 0;
    });
    if (stream.work.empty()) break;
    const std::function<void()> work = std::move(stream.work.front());
    lock.unlock();
    work();
    lock.lock();
    stream.work.pop_front();
    gpu.changed.notify_all();
  }
  gpu.destroyed.erase(&stream);
  gpu.changed.notify_all();
  delete &stream;
}

// Enqueues the work, or adds it to the capture.
cudaError_t Enqueue(cudaStream_t stream, std::function<void()> work,
                    const Lock& lock) {
  CUstream_st& found = Look(stream, lock);
  if (found.capture != 0) {
    ++found.graph->nodes;
    return cudaSuccess;
  }
  found.work.push_back(std::move(work));
  if (!std::exchange(found.has_thread, true)) {
    std::thread([&found] { Run(found); }).detach();
  }
  gpu.changed.notify_all();
  return cudaSuccess;
}

cudaError_t Enqueue(cudaStream_t stream, std::function<void()> work) {
  return Enqueue(stream, std::move(work), Lock(gpu.mutex));
}

void WaitForAll(Lock& lock) {
  gpu.changed.wait(lock, [] {
    const auto is_idle = [](const CUstream_st& s) { return s.work.empty(); };
    return std::all_of(std::begin(gpu.special_streams),
                       std::end(gpu.special_streams), is_idle) &&
           gpu.destroyed.empty() &&
           std::all_of(gpu.streams.begin(), gpu.streams.end(),
                       [&](const CUstream_st* s) { return is_idle(*s); });
  });
}

// What would have to wait for a capture breaks it.
bool BreaksCapture(CUstream_st& stream) {
  if (stream.capture == 0) return false;
  stream.capture = 2;
  return true;
}

// Doesn't wait for work. The thread, if there is one, does what is left.
void Destroy(CUstream_st* stream, const Lock&) {
  delete stream->graph;
  gpu.streams.erase(stream);
  if (stream->has_thread) {
    gpu.destroyed.insert(stream);
    gpu.changed.notify_all();
  } else {
    delete stream;
  }
}

cudaError_t Allocate(void** memory, size_t size) {
  *memory = std::malloc(size);
  return *memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}

}  // namespace

extern "C" {

// So that the compiler says if one here is another.
#define HIP_OVER_CUDA_DECLARE(name, parameters) cudaError_t name parameters;
HIP_OVER_CUDA_FUNCTIONS(HIP_OVER_CUDA_DECLARE)
#undef HIP_OVER_CUDA_DECLARE

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == kCudaDevAttrMajor ? 9 : 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(void* properties, int) {
  std::strcpy(static_cast<char*>(properties), "fake GPU");
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = kGreatestPriority;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  Lock lock(gpu.mutex);
  WaitForAll(lock);
  return cudaSuccess;
}

cudaError_t cudaDeviceReset() {
  Lock lock(gpu.mutex);
  WaitForAll(lock);
  while (!gpu.streams.empty()) Destroy(*gpu.streams.begin(), lock);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags,
                                         int priority) {
  if (flags > 1) return cudaErrorInvalidValue;
  *stream = new CUstream_st{flags, std::clamp(priority, kGreatestPriority, 0)};
  Lock lock(gpu.mutex);
  (*stream)->id = ++gpu.last_id;
  gpu.streams.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (IsSpecial(stream)) return cudaErrorInvalidResourceHandle;
  Lock lock(gpu.mutex);
  Destroy(&Look(stream, lock), lock);
  return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  *flags = Look(stream, Lock(gpu.mutex)).flags;
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  *priority = Look(stream, Lock(gpu.mutex)).priority;
  return cudaSuccess;
}

cudaError_t cudaStreamGetId(
    cudaStream_t stream,
    unsigned long long* id) {  // NOLINT(google-runtime-int)
  *id = Look(stream, Lock(gpu.mutex)).id;
  return cudaSuccess;
}

cudaError_t cudaStreamGetAttribute(cudaStream_t stream, int attribute,
                                   void* value) {
  if (attribute != kSynchronizationPolicy) return cudaErrorInvalidValue;
  *static_cast<int*>(value) =
      Look(stream, Lock(gpu.mutex)).synchronization_policy;
  return cudaSuccess;
}

cudaError_t cudaStreamSetAttribute(cudaStream_t stream, int attribute,
                                   const void* value) {
  if (attribute != kSynchronizationPolicy) return cudaErrorInvalidValue;
  Look(stream, Lock(gpu.mutex)).synchronization_policy =
      *static_cast<const int*>(value);
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  Lock lock(gpu.mutex);
  CUstream_st& found = Look(stream, lock);
  if (BreaksCapture(found)) return cudaErrorStreamCaptureUnsupported;
  return found.work.empty() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Lock lock(gpu.mutex);
  CUstream_st& found = Look(stream, lock);
  if (BreaksCapture(found)) return cudaErrorStreamCaptureUnsupported;
  gpu.changed.wait(lock, [&] { return found.work.empty(); });
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned) {
  Lock lock(gpu.mutex);
  const auto wait = [reached = event->reached] {
    Lock waiting(gpu.mutex);
    gpu.changed.wait(waiting, [&] { return *reached; });
  };
  return Enqueue(stream, wait, lock);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream,
                                  cudaStreamCallback_t callback, void* data,
                                  unsigned) {
  return Enqueue(stream, [=] { callback(stream, cudaSuccess, data); });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function,
                               void* data) {
  return Enqueue(stream, [=] { function(data); });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, capture_mode);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int) {
  Lock lock(gpu.mutex);
  CUstream_st& found = Look(stream, lock);
  found.capture = 1;
  found.graph = new CUgraph_st;
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, int* status) {
  *status = Look(stream, Lock(gpu.mutex)).capture;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  Lock lock(gpu.mutex);
  CUstream_st& found = Look(stream, lock);
  found.capture = 0;
  *graph = std::exchange(found.graph, nullptr);
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*,
                              size_t* count) {
  *count = graph->nodes;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Lock lock(gpu.mutex);
  event->reached = std::make_shared<bool>(false);
  const auto reach = [reached = event->reached] {
    Lock reaching(gpu.mutex);
    *reached = true;
  };
  return Enqueue(stream, reach, lock);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  Lock lock(gpu.mutex);
  return *event->reached ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  Lock lock(gpu.mutex);
  const std::shared_ptr<bool> reached = event->reached;
  gpu.changed.wait(lock, [&] { return *reached; });
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, size_t size) {
  return Allocate(memory, size);
}

cudaError_t cudaFree(void* memory) {
  Lock lock(gpu.mutex);
  WaitForAll(lock);
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** memory, size_t size, unsigned) {
  return Allocate(memory, size);
}

cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }

cudaError_t cudaMemcpy(void* to, const void* from, size_t size, int) {
  Lock lock(gpu.mutex);
  WaitForAll(lock);
  std::memcpy(to, from, size);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, int,
                            cudaStream_t stream) {
  return Enqueue(stream, [=] {
    Lock one_at_a_time(gpu.memory);
    std::memcpy(to, from, size);
  });
}

cudaError_t cudaMemset(void* memory, int value, size_t size) {
  Lock lock(gpu.mutex);
  WaitForAll(lock);
  std::memset(memory, value, size);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int value, size_t size,
                            cudaStream_t stream) {
  return Enqueue(stream, [=] {
    Lock one_at_a_time(gpu.memory);
    std::memset(memory, value, size);
  });
}

}  // extern "C"
