// SPDX-License-Identifier: Apache-2.0
//
// A thread that sleeps until one of its tasks has something to do. The
// simulated hardware is made of these: a device's packet processor, its copy
// engines, and the thread that runs signal handlers.

#ifndef HIP_STREAM_POOL_TESTS_SIMULATED_HSA_EVENT_LOOP_H_
#define HIP_STREAM_POOL_TESTS_SIMULATED_HSA_EVENT_LOOP_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

namespace simulated_hsa {

using Clock = std::chrono::steady_clock;

class Task {
 public:
  virtual ~Task() = default;

  // Called on the loop's thread with no lock held. Does what can be done now
  // and returns; never waits. May delete the task.
  virtual void Run() = 0;

 private:
  friend class EventLoop;
  bool posted_ = false;  // guarded by the loop's mutex
};

// Thread-safe. The thread starts with the first post. A task belongs to one
// loop.
class EventLoop {
 public:
  // `name` is what a debugger shows, at most 15 characters.
  explicit EventLoop(std::string name) : name_(std::move(name)) {}

  // Loops live as long as the process: at its end a thread may be in a
  // callback that never returns.
  ~EventLoop() = delete;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Has `task` run once more, after those posted before it. A task that is
  // posted already stays where it is.
  void Post(Task* task);

  // Has `task` run when `due` has come. One such wait a task.
  void PostAt(Task* task, Clock::time_point due);

  // Takes `task` back and waits until it does not run. Not from its own Run.
  void Cancel(Task* task);

  // Stops the thread; tasks still posted stay. A later post starts a thread
  // again. A thread that is inside a task for a second longer is left behind:
  // the HIP runtime shuts down at the end of a process, and the callback that
  // the thread is in may never return.
  void Stop();

  // Waits until every task that is posted has run, at most until `deadline`.
  // From one of this loop's tasks it returns at once.
  void WaitUntilIdle(Clock::time_point deadline);

  // As Stop, when the process ends, except that nothing starts any more and
  // that a thread inside a task is left behind at once.
  void StopForExit();

 private:
  void StopWithin(std::chrono::seconds patience);
  void StartLocked();
  void RunLoop();
  void SleepLocked(std::unique_lock<std::mutex>& lock);

  const std::string name_;
  std::mutex mutex_;
  std::condition_variable wake_;      // for the thread
  std::condition_variable finished_;  // a task's Run has returned
  std::deque<Task*> ready_;
  std::set<std::pair<Clock::time_point, Task*>> waiting_;
  Task* running_ = nullptr;
  bool stopping_ = false;
  bool exiting_ = false;
  std::thread thread_;
};

}  // namespace simulated_hsa

#endif  // HIP_STREAM_POOL_TESTS_SIMULATED_HSA_EVENT_LOOP_H_
