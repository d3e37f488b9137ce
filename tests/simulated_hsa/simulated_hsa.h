// SPDX-License-Identifier: Apache-2.0
//
// Observes and steers the simulated HSA runtime from a test or benchmark.
//
// The simulation is a library named libhsa-runtime64.so.1. A program whose
// LD_LIBRARY_PATH finds it runs AMD's unmodified HIP runtime on a machine with
// no GPU. Include this header without linking anything: the same program also
// runs on the real HSA runtime, where Get() returns nullptr.
//
//   if (simulated_hsa::Control* simulation = simulated_hsa::Get()) {
//     const int64_t before = simulation->ReadCounters().queues_created;
//     ...
//   }
//
// Environment, read once when the process first calls HSA (times are in
// microseconds, fractions allowed):
//   SIMULATED_HSA_DEVICES            number of GPUs, 1 to 64; 2 if unset
//   SIMULATED_HSA_COPY_US            the members of Model
//   SIMULATED_HSA_DISPATCH_US
//   SIMULATED_HSA_QUEUE_CREATE_US
//   SIMULATED_HSA_QUEUE_DESTROY_US
//   SIMULATED_HSA_ALLOCATE_US
//   SIMULATED_HSA_FREE_US
//   SIMULATED_HSA_SIGNAL_CREATE_US
//   SIMULATED_HSA_SIGNAL_DESTROY_US
//   SIMULATED_HSA_FAIL_QUEUE_CREATE  a count or "all", see FailQueueCreate
//   SIMULATED_HSA_FAIL_ALLOCATE      a count or "all", see FailAllocate
//   SIMULATED_HSA_TRACE              if set, unknown questions of the HIP
//                                    runtime are written to stderr

#ifndef HIP_STREAM_POOL_TESTS_SIMULATED_HSA_SIMULATED_HSA_H_
#define HIP_STREAM_POOL_TESTS_SIMULATED_HSA_SIMULATED_HSA_H_

#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace simulated_hsa {

// What has happened since the process started. Calls that failed are not
// counted.
struct Counters {
  int64_t queues_created = 0;
  int64_t queues_destroyed = 0;
  int64_t queue_changes = 0;  // priority and CU mask settings
  int64_t allocations = 0;
  int64_t frees = 0;
  int64_t access_grants = 0;  // hsa_amd_agents_allow_access
  int64_t locks = 0;          // host memory made visible to a GPU
  int64_t unlocks = 0;
  int64_t signals_created = 0;
  int64_t signals_destroyed = 0;

  int64_t blocking_waits = 0;  // host waits that had to sleep
  int64_t handlers_added = 0;  // hsa_amd_signal_async_handler
  int64_t handlers_run = 0;    // host callbacks among them
  int64_t copies = 0;          // copy engine operations completed
  int64_t copied_bytes = 0;    // by copy engines, not by kernels
  int64_t dispatches = 0;      // kernels completed
  int64_t barriers = 0;        // barrier packets completed

  int64_t live_bytes = 0;  // allocated and not yet freed, host and device

  // Calls that enter the kernel driver on a real system.
  int64_t driver_calls() const {
    return queues_created + queues_destroyed + queue_changes + allocations +
           frees + access_grants + locks + unlocks + signals_created +
           signals_destroyed;
  }
  int64_t live_queues() const { return queues_created - queues_destroyed; }
  int64_t live_signals() const { return signals_created - signals_destroyed; }
  int64_t live_allocations() const { return allocations - frees; }
};

enum class QueuePriority { kLow, kNormal, kHigh };

// A hardware queue that exists now. The HIP runtime maps many streams to one.
struct HardwareQueue {
  int64_t number = 0;  // in order of creation in this process, from 1
  int device = 0;      // HIP's ordinal, if HIP_VISIBLE_DEVICES is not set
  QueuePriority priority = QueuePriority::kNormal;
  bool has_cu_mask = false;
  int64_t packets = 0;  // completed, of every kind
};

// How long the hardware and the driver take. Zero means no added time. Driver
// calls keep the calling thread for that long (by sleeping, and spinning for
// the remainder, so 5 us are 5 us); copies and kernels take it in the
// background. Each copy engine and each hardware queue does one thing at a
// time; a device has one copy engine for each direction.
struct Model {
  std::chrono::nanoseconds copy{0};      // each copy, besides moving its bytes
  std::chrono::nanoseconds dispatch{0};  // each kernel
  std::chrono::nanoseconds queue_create{0};
  std::chrono::nanoseconds queue_destroy{0};
  std::chrono::nanoseconds allocate{0};
  std::chrono::nanoseconds free{0};
  std::chrono::nanoseconds signal_create{0};
  std::chrono::nanoseconds signal_destroy{0};
};

// Every member may be called from any thread at any time.
class Control {
 public:
  static constexpr int64_t kNone = 0;
  static constexpr int64_t kAll = -1;

  virtual int DeviceCount() const = 0;

  virtual Counters ReadCounters() const = 0;

  // The queues that exist now, in the order of their creation.
  virtual std::vector<HardwareQueue> ReadQueues() const = 0;

  // A change of the model is felt by what starts after it.
  virtual Model GetModel() const = 0;
  virtual void SetModel(const Model& model) = 0;

  // The nth queue creation from now (1 is the next) fails, once. kAll: every
  // one fails until set again. kNone: none fails. The HIP runtime answers a
  // failed creation with attempts for ever smaller queues; these all count as
  // one creation and fail together.
  virtual void FailQueueCreate(int64_t nth) = 0;

  // The same for memory allocations, of any pool, each call counting as one.
  virtual void FailAllocate(int64_t nth) = 0;

  // From Hold until Release, no copy and no kernel completes: a stream that
  // has one stays busy. A call that waits for one blocks, so use pinned memory
  // for copies. Holds do not nest.
  virtual void Hold() = 0;
  virtual void Release() = 0;

  // One line: "2 devices, copy 0 us, dispatch 0 us, queue create 0 us, ...".
  virtual std::string Describe() const = 0;

 protected:
  ~Control() = default;
};

// The simulation in this process, which lives until the process ends; nullptr
// if the process runs on the real HSA runtime, or on none. A symbol lookup:
// keep the result where that matters.
inline Control* Get() {
  using GetControl = Control* (*)();
  const auto get_control = reinterpret_cast<GetControl>(
      dlsym(RTLD_DEFAULT, "simulated_hsa_control"));
  return get_control == nullptr ? nullptr : get_control();
}

// The numbers of the queues that completed packets between two readings.
inline std::vector<int64_t> QueuesReached(
    const std::vector<HardwareQueue>& before,
    const std::vector<HardwareQueue>& after) {
  std::vector<int64_t> reached;
  for (const HardwareQueue& queue : after) {
    int64_t packets_before = 0;
    for (const HardwareQueue& old : before) {
      if (old.number == queue.number) packets_before = old.packets;
    }
    if (queue.packets > packets_before) reached.push_back(queue.number);
  }
  return reached;
}

// Holds for a scope, so that a test that stops early leaves nothing stuck.
class ScopedHold {
 public:
  explicit ScopedHold(Control* control) : control_(control) {
    control_->Hold();
  }
  ~ScopedHold() { control_->Release(); }
  ScopedHold(const ScopedHold&) = delete;
  ScopedHold& operator=(const ScopedHold&) = delete;

 private:
  Control* control_;
};

}  // namespace simulated_hsa

#endif  // HIP_STREAM_POOL_TESTS_SIMULATED_HSA_SIMULATED_HSA_H_
