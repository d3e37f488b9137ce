// SPDX-License-Identifier: Apache-2.0
//
// HSA signals: 64-bit values that host threads, queues, copies and handlers
// wait on. Each signal knows its own watchers, so a change wakes those that
// wait for it and no others.

#ifndef HIP_STREAM_POOL_TESTS_SIMULATED_HSA_SIGNALS_H_
#define HIP_STREAM_POOL_TESTS_SIMULATED_HSA_SIGNALS_H_

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "event_loop.h"

namespace simulated_hsa {

class Queue;
class Signal;
class SignalWait;

struct Condition {
  hsa_signal_condition_t relation = HSA_SIGNAL_CONDITION_EQ;
  int64_t value = 0;
  int64_t mask = -1;  // applied to the signal's value first

  bool Holds(int64_t signal_value) const;
};

// Told once when a signal meets a condition. The calls come with the signal's
// lock held: they may take only locks under which no signal is touched.
class SignalWatcher {
 public:
  virtual ~SignalWatcher() = default;
  virtual void OnConditionMet(int64_t value) = 0;
  virtual void OnSignalDestroyed() {}

 private:
  friend class Signal;
  friend class SignalWait;
  Condition condition_;
  std::atomic<Signal*> watched_{nullptr};  // written under its lock
};

class Signal {
 public:
  explicit Signal(int64_t value);
  ~Signal();
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  static Signal* From(hsa_signal_t handle) {
    return reinterpret_cast<Signal*>(handle.handle);
  }
  hsa_signal_t handle() {
    return hsa_signal_t{reinterpret_cast<uint64_t>(this)};
  }

  int64_t Load() const {
    return __atomic_load_n(&abi_.value, __ATOMIC_ACQUIRE);
  }
  void Store(int64_t value);
  void StoreSilently(int64_t value) {
    __atomic_store_n(&abi_.value, value, __ATOMIC_RELEASE);
  }
  void Add(int64_t difference);
  volatile int64_t* value_pointer() { return &abi_.value; }

  // HIP 7 destroys signals that packets in a queue are still to complete: with
  // a stream, those of its staging buffer. The memory of a signal outlives that
  // in AMD's runtime too. Such a signal is destroyed for its watchers, and
  // whoever completes it for the last time deletes it.
  void Orphan();
  bool is_orphan() const { return is_orphan_; }

  // What a processor does when the work a signal stands for is done: notes
  // when it ran, and takes one off the value.
  void Complete(Clock::time_point start, Clock::time_point end);
  uint64_t start_time() const;  // ns of Clock
  uint64_t end_time() const;

  // Tells `watcher` at once, from here, if the condition holds already.
  void Watch(const Condition& condition, SignalWatcher* watcher);

  // When this returns, `watcher` is not being told and will not be.
  void Unwatch(SignalWatcher* watcher);

  // A doorbell belongs to a queue and is rung by storing to it.
  void set_queue(Queue* queue) { queue_ = queue; }
  Queue* queue() const { return queue_; }

 private:
  void TellWatchersLocked();
  void DropWatchersLocked();

  // First, because the HIP runtime reads times directly from a signal.
  amd_signal_t abi_ = {};
  Queue* queue_ = nullptr;
  std::mutex mutex_;
  std::vector<SignalWatcher*> watchers_;
  bool is_orphan_ = false;  // guarded by the mutex of the queues

  // All signals are in one list, so that one the HIP runtime never destroys
  // is not taken for a leak of the simulation.
  Signal* previous_ = nullptr;
  Signal* next_ = nullptr;
};

// Waits for several signals on behalf of a task.
class SignalWait {
 public:
  struct Target {
    hsa_signal_t signal;  // a null handle counts as one that has met it
    Condition condition;
  };

  SignalWait() = default;
  ~SignalWait() { Cancel(); }
  SignalWait(const SignalWait&) = delete;
  SignalWait& operator=(const SignalWait&) = delete;

  // Returns true if all targets have met their conditions already; else posts
  // `task` when they have. The task may run, and delete this, before Start
  // returns.
  bool Start(const std::vector<Target>& targets, EventLoop* loop, Task* task);

  // Not while a signal that is still waited for changes.
  void Cancel();

 private:
  class Watcher;

  // Returns true to the one that found the last of those needed.
  bool CountOne() { return missing_.fetch_sub(1) == 1; }

  EventLoop* loop_ = nullptr;
  Task* task_ = nullptr;
  std::atomic<int64_t> missing_{0};
  std::vector<std::unique_ptr<SignalWatcher>> watchers_;
};

}  // namespace simulated_hsa

#endif  // HIP_STREAM_POOL_TESTS_SIMULATED_HSA_SIGNALS_H_
