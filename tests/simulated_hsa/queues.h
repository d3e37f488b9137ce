// SPDX-License-Identifier: Apache-2.0
//
// A hardware queue: a ring of AQL packets that the host fills and the device's
// packet processor empties, one packet after the other.

#ifndef HIP_STREAM_POOL_TESTS_SIMULATED_HSA_QUEUES_H_
#define HIP_STREAM_POOL_TESTS_SIMULATED_HSA_QUEUES_H_

#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "event_loop.h"
#include "signals.h"
#include "simulated_hsa.h"

namespace simulated_hsa {

class Queue : private Task {
 public:
  Queue(int device, hsa_queue_type32_t type, uint32_t size);
  ~Queue() override;

  static Queue* From(const hsa_queue_t* queue);
  hsa_queue_t* handle() { return &abi_.queue.hsa_queue; }

  // The doorbell: all packets up to the one with this index may be run.
  void Ring(int64_t packet_index);

  uint64_t read_index() const;
  uint64_t write_index() const;
  uint64_t AddWriteIndex(uint64_t count);

  void set_priority(QueuePriority priority) { priority_ = priority; }
  void set_has_cu_mask(bool has_cu_mask) { has_cu_mask_ = has_cu_mask; }
  HardwareQueue Describe() const;

  // Deletes it when no packet of any queue is to complete it any more.
  static void DestroySignal(Signal* signal);

  // Those that exist now, in the order of their creation.
  static std::vector<HardwareQueue> DescribeAll();

 private:
  // The runtime's part comes first in the object that a handle points to.
  struct Abi {
    amd_queue_t queue;
    Queue* owner;
  };
  struct Slot;
  struct FreeSlots {
    void operator()(Slot* slots) const;
  };

  // Not the queue's own task, which the doorbell posts at any time.
  class SignalsMet : public Task {
   public:
    explicit SignalsMet(Queue* queue) : queue_(queue) {}
    void Run() override;

   private:
    Queue* const queue_;
  };

  static bool AnyCompletes(hsa_signal_t signal);  // with the list's lock held
  bool Completes(hsa_signal_t signal) const;
  void CancelTasks();
  void Run() override;
  void Start(const Slot& slot);
  bool Proceed(const Slot& slot);  // false: will be run when it can go on
  void Finish(Slot* slot);

  Abi abi_ = {};
  const std::unique_ptr<Slot[], FreeSlots> slots_;
  Signal doorbell_{0};
  EventLoop& loop_;
  const int64_t number_;
  const int device_;
  std::atomic<QueuePriority> priority_{QueuePriority::kNormal};
  std::atomic<bool> has_cu_mask_{false};
  std::atomic<int64_t> packets_{0};
  std::atomic<int64_t> last_rung_{-1};
  std::atomic<bool> destroyed_{false};

  // The packet at the read index; touched on the loop's thread only.
  bool started_ = false;
  bool signals_met_ = false;
  SignalsMet signals_met_task_{this};
  SignalWait signals_;
  Clock::time_point start_;
  Clock::time_point due_;
};

}  // namespace simulated_hsa

#endif  // HIP_STREAM_POOL_TESTS_SIMULATED_HSA_QUEUES_H_
