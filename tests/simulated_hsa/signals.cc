// SPDX-License-Identifier: Apache-2.0

#include "signals.h"

#include <hsa/hsa_ext_amd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>

#include "queues.h"
#include "runtime.h"

namespace simulated_hsa {
namespace {

struct SignalList {
  std::mutex mutex;
  Signal* first = nullptr;
};

SignalList& LiveSignals() {
  static SignalList* const list = new SignalList;
  return *list;
}

uint64_t Nanoseconds(Clock::time_point time) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          time.time_since_epoch())
          .count());
}

// A host thread that sleeps until a signal changes.
class HostWait : public SignalWatcher {
 public:
  void OnConditionMet(int64_t value) override {
    // Told under the lock: the waiter's stack frame must outlive the notice.
    const std::lock_guard<std::mutex> lock(mutex_);
    met_ = true;
    value_ = value;
    changed_.notify_one();
  }

  void Sleep() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return met_; });
  }

  void SleepUntil(Clock::time_point deadline) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_until(lock, deadline, [this] { return met_; });
  }

  bool met() const { return met_; }
  int64_t value() const { return value_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool met_ = false;
  int64_t value_ = 0;
};

// hsa_amd_signal_async_handler: a function called on the handler thread, again
// and again as long as it returns true.
class AsyncHandler : public SignalWatcher, public Task {
 public:
  AsyncHandler(Signal* signal, const Condition& condition,
               hsa_amd_signal_handler function, void* argument)
      : signal_(signal),
        condition_(condition),
        function_(function),
        argument_(argument) {}

  void Arm() { signal_->Watch(condition_, this); }

  void OnConditionMet(int64_t value) override {
    value_ = value;
    Runtime::Get().handlers().Post(this);
  }

  void OnSignalDestroyed() override { delete this; }

  void Run() override {
    const bool again = function_(value_, argument_);
    ++Runtime::Get().counters().handlers_run;
    if (again) {
      Arm();
    } else {
      delete this;
    }
  }

 private:
  Signal* const signal_;
  const Condition condition_;
  const hsa_amd_signal_handler function_;
  void* const argument_;
  int64_t value_ = 0;
};

}  // namespace

bool Condition::Holds(int64_t signal_value) const {
  signal_value &= mask;
  switch (relation) {
    case HSA_SIGNAL_CONDITION_EQ:
      return signal_value == value;
    case HSA_SIGNAL_CONDITION_NE:
      return signal_value != value;
    case HSA_SIGNAL_CONDITION_LT:
      return signal_value < value;
    case HSA_SIGNAL_CONDITION_GTE:
      return signal_value >= value;
  }
  return false;
}

Signal::Signal(int64_t value) {
  abi_.kind = AMD_SIGNAL_KIND_USER;
  abi_.value = value;
  SignalList& list = LiveSignals();
  const std::lock_guard<std::mutex> lock(list.mutex);
  next_ = list.first;
  if (next_ != nullptr) next_->previous_ = this;
  list.first = this;
}

Signal::~Signal() {
  {
    SignalList& list = LiveSignals();
    const std::lock_guard<std::mutex> lock(list.mutex);
    (previous_ == nullptr ? list.first : previous_->next_) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
  }
  // Whoever made the last change may still hold the lock: wait for that.
  const std::lock_guard<std::mutex> lock(mutex_);
  DropWatchersLocked();
}

void Signal::Orphan() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_orphan_ = true;
  DropWatchersLocked();
}

void Signal::Store(int64_t value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  StoreSilently(value);
  TellWatchersLocked();
}

void Signal::Add(int64_t difference) {
  const std::lock_guard<std::mutex> lock(mutex_);
  __atomic_fetch_add(&abi_.value, difference, __ATOMIC_ACQ_REL);
  TellWatchersLocked();
}

void Signal::Complete(Clock::time_point start, Clock::time_point end) {
  __atomic_store_n(&abi_.start_ts, Nanoseconds(start), __ATOMIC_RELAXED);
  __atomic_store_n(&abi_.end_ts, Nanoseconds(end), __ATOMIC_RELAXED);
  Add(-1);
}

uint64_t Signal::start_time() const {
  return __atomic_load_n(&abi_.start_ts, __ATOMIC_RELAXED);
}

uint64_t Signal::end_time() const {
  return __atomic_load_n(&abi_.end_ts, __ATOMIC_RELAXED);
}

void Signal::Watch(const Condition& condition, SignalWatcher* watcher) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const int64_t value = Load();
  if (condition.Holds(value)) {
    watcher->OnConditionMet(value);
    return;
  }
  watcher->condition_ = condition;
  watcher->watched_ = this;
  watchers_.push_back(watcher);
}

void Signal::Unwatch(SignalWatcher* watcher) {
  const std::lock_guard<std::mutex> lock(mutex_);
  watchers_.erase(std::remove(watchers_.begin(), watchers_.end(), watcher),
                  watchers_.end());
  watcher->watched_ = nullptr;
}

void Signal::TellWatchersLocked() {
  if (watchers_.empty()) return;
  const int64_t value = Load();
  size_t kept = 0;
  for (SignalWatcher* watcher : watchers_) {
    if (!watcher->condition_.Holds(value)) {
      watchers_[kept++] = watcher;
      continue;
    }
    watcher->watched_ = nullptr;
    watcher->OnConditionMet(value);
  }
  watchers_.resize(kept);
}

void Signal::DropWatchersLocked() {
  for (SignalWatcher* watcher : watchers_) {
    watcher->watched_ = nullptr;
    watcher->OnSignalDestroyed();
  }
  watchers_.clear();
}

class SignalWait::Watcher : public SignalWatcher {
 public:
  explicit Watcher(SignalWait* wait) : wait_(wait) {}

  void OnConditionMet(int64_t) override {
    if (wait_->CountOne()) wait_->loop_->Post(wait_->task_);
  }

 private:
  SignalWait* const wait_;
};

bool SignalWait::Start(const std::vector<Target>& targets, EventLoop* loop,
                       Task* task) {
  loop_ = loop;
  task_ = task;
  // One more than there are, so that none is found the last while some are not
  // yet watched.
  missing_ = static_cast<int64_t>(targets.size()) + 1;
  watchers_.clear();
  for (size_t i = 0; i < targets.size(); ++i) {
    watchers_.push_back(std::make_unique<Watcher>(this));
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].signal.handle == 0) {
      CountOne();
    } else {
      Signal::From(targets[i].signal)
          ->Watch(targets[i].condition, watchers_[i].get());
    }
  }
  return CountOne();
}

void SignalWait::Cancel() {
  for (const auto& watcher : watchers_) {
    if (Signal* const signal = watcher->watched_)
      signal->Unwatch(watcher.get());
  }
  watchers_.clear();
}

}  // namespace simulated_hsa

using simulated_hsa::AsyncHandler;
using simulated_hsa::Clock;
using simulated_hsa::Condition;
using simulated_hsa::HostWait;
using simulated_hsa::Queue;
using simulated_hsa::Runtime;
using simulated_hsa::Signal;

hsa_status_t hsa_signal_create(hsa_signal_value_t value, uint32_t,
                               const hsa_agent_t*, hsa_signal_t* signal) {
  Runtime& runtime = Runtime::Get();
  runtime.settings().Spend(&simulated_hsa::Model::signal_create);
  *signal = (new Signal(value))->handle();
  ++runtime.counters().signals_created;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_signal_create(hsa_signal_value_t value, uint32_t count,
                                   const hsa_agent_t* consumers, uint64_t,
                                   hsa_signal_t* signal) {
  return hsa_signal_create(value, count, consumers, signal);
}

hsa_status_t hsa_signal_destroy(hsa_signal_t signal) {
  if (signal.handle == 0) return HSA_STATUS_ERROR_INVALID_SIGNAL;
  Runtime& runtime = Runtime::Get();
  runtime.settings().Spend(&simulated_hsa::Model::signal_destroy);
  Queue::DestroySignal(Signal::From(signal));
  ++runtime.counters().signals_destroyed;
  return HSA_STATUS_SUCCESS;
}

hsa_signal_value_t hsa_signal_load_relaxed(hsa_signal_t signal) {
  return Signal::From(signal)->Load();
}

void hsa_signal_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value) {
  hsa_signal_store_screlease(signal, value);
}

void hsa_signal_store_screlease(hsa_signal_t handle, hsa_signal_value_t value) {
  Signal* const signal = Signal::From(handle);
  if (Queue* const queue = signal->queue()) {
    queue->Ring(value);
    return;
  }
  signal->Store(value);
}

void hsa_signal_silent_store_relaxed(hsa_signal_t signal,
                                     hsa_signal_value_t value) {
  Signal::From(signal)->StoreSilently(value);
}

void hsa_signal_add_relaxed(hsa_signal_t signal, hsa_signal_value_t value) {
  Signal::From(signal)->Add(value);
}

void hsa_signal_subtract_relaxed(hsa_signal_t signal,
                                 hsa_signal_value_t value) {
  Signal::From(signal)->Add(-value);
}

// A change through the pointer wakes nobody: it has no entry point to come
// through.
hsa_status_t hsa_amd_signal_value_pointer(
    hsa_signal_t signal, volatile hsa_signal_value_t** pointer) {
  *pointer = Signal::From(signal)->value_pointer();
  return HSA_STATUS_SUCCESS;
}

hsa_signal_value_t hsa_signal_wait_scacquire(hsa_signal_t handle,
                                             hsa_signal_condition_t relation,
                                             hsa_signal_value_t compare_value,
                                             uint64_t timeout_ns,
                                             hsa_wait_state_t state) {
  Signal* const signal = Signal::From(handle);
  const Condition condition{relation, compare_value};
  int64_t value = signal->Load();
  if (condition.Holds(value) || timeout_ns == 0) return value;
  // Too short to sleep: HIP 5 gives each question about an event 10 us.
  constexpr uint64_t kShort = 20'000;
  if (state == HSA_WAIT_STATE_ACTIVE && timeout_ns <= kShort) {
    const auto end = Clock::now() + std::chrono::nanoseconds(timeout_ns);
    do {
      value = signal->Load();
    } while (!condition.Holds(value) && Clock::now() < end);
    return value;
  }

  ++Runtime::Get().counters().blocking_waits;
  HostWait wait;
  signal->Watch(condition, &wait);
  constexpr uint64_t kForever = uint64_t{1} << 62;  // beyond Clock's range
  if (timeout_ns >= kForever) {
    wait.Sleep();
    return wait.value();
  }
  wait.SleepUntil(Clock::now() + std::chrono::nanoseconds(timeout_ns));
  signal->Unwatch(&wait);
  return wait.met() ? wait.value() : signal->Load();
}

hsa_status_t hsa_amd_signal_async_handler(hsa_signal_t handle,
                                          hsa_signal_condition_t relation,
                                          hsa_signal_value_t value,
                                          hsa_amd_signal_handler function,
                                          void* argument) {
  ++Runtime::Get().counters().handlers_added;
  Signal* const signal = Signal::From(handle);
  (new AsyncHandler(signal, Condition{relation, value}, function, argument))
      ->Arm();
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_profiling_get_dispatch_time(
    hsa_agent_t, hsa_signal_t signal, hsa_amd_profiling_dispatch_time_t* time) {
  time->start = Signal::From(signal)->start_time();
  time->end = Signal::From(signal)->end_time();
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_profiling_get_async_copy_time(
    hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t* time) {
  time->start = Signal::From(signal)->start_time();
  time->end = Signal::From(signal)->end_time();
  return HSA_STATUS_SUCCESS;
}
