// SPDX-License-Identifier: Apache-2.0

#include "event_loop.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>

namespace simulated_hsa {

void EventLoop::Post(Task* task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (task->posted_) return;
  task->posted_ = true;
  ready_.push_back(task);
  StartLocked();
  wake_.notify_one();
}

void EventLoop::PostAt(Task* task, Clock::time_point due) {
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.emplace(due, task);
  StartLocked();
  wake_.notify_one();
}

void EventLoop::Cancel(Task* task) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto forget = [&] {
    ready_.erase(std::remove(ready_.begin(), ready_.end(), task), ready_.end());
    task->posted_ = false;
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      it = it->second == task ? waiting_.erase(it) : std::next(it);
    }
  };
  forget();
  finished_.wait(lock, [&] { return running_ != task; });
  forget();  // it may have posted itself while it ran
}

void EventLoop::WaitUntilIdle(Clock::time_point deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (thread_.get_id() == std::this_thread::get_id()) return;
  finished_.wait_until(lock, deadline, [this] {
    return !thread_.joinable() || (running_ == nullptr && ready_.empty());
  });
}

void EventLoop::Stop() { StopWithin(std::chrono::seconds(1)); }

void EventLoop::StopForExit() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    exiting_ = true;
  }
  StopWithin(std::chrono::seconds(0));
}

void EventLoop::StopWithin(std::chrono::seconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!thread_.joinable()) return;
  stopping_ = true;
  wake_.notify_one();
  std::thread thread;
  thread.swap(thread_);
  // A callback may be what shuts the runtime down.
  if (thread.get_id() == std::this_thread::get_id() ||
      !finished_.wait_for(lock, patience,
                          [this] { return running_ == nullptr; })) {
    thread.detach();
    return;
  }
  lock.unlock();
  thread.join();
}

void EventLoop::StartLocked() {
  if (thread_.joinable() || stopping_ || exiting_) return;
  thread_ = std::thread(&EventLoop::RunLoop, this);
  pthread_setname_np(thread_.native_handle(), name_.c_str());
}

void EventLoop::RunLoop() {
  // The default slack of 50 us would be added to every simulated latency.
  prctl(PR_SET_TIMERSLACK, 1000UL /* ns */, 0UL, 0UL, 0UL);
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    const Clock::time_point now =
        waiting_.empty() ? Clock::time_point() : Clock::now();
    while (!waiting_.empty() && waiting_.begin()->first <= now) {
      Task* const task = waiting_.begin()->second;
      waiting_.erase(waiting_.begin());
      if (task->posted_) continue;
      task->posted_ = true;
      ready_.push_back(task);
    }
    if (ready_.empty()) {
      SleepLocked(lock);
      continue;
    }
    running_ = ready_.front();
    ready_.pop_front();
    running_->posted_ = false;
    lock.unlock();
    running_->Run();
    lock.lock();
    running_ = nullptr;
    finished_.notify_all();
  }
  stopping_ = false;  // the next post may start a thread
}

void EventLoop::SleepLocked(std::unique_lock<std::mutex>& lock) {
  if (waiting_.empty()) {
    wake_.wait(lock);
    return;
  }
  // Waking up takes some microseconds, so the last of them are spent awake.
  constexpr auto kWakeTime = std::chrono::microseconds(10);
  const Clock::time_point due = waiting_.begin()->first;
  if (due - Clock::now() > kWakeTime) {
    wake_.wait_until(lock, due - kWakeTime);
  } else {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
}

}  // namespace simulated_hsa
