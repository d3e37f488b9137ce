// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/worker_thread.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <thread>
#include <utility>

#include "pool/mutex.h"

namespace hip_stream_pool {

// The thread shares it, so that a worker that is destroyed by its own task can
// finish.
class WorkerThread::Queue {
 public:
  using Task = absl::AnyInvocable<void() &&>;

  void Start(std::shared_ptr<Queue> self, std::string name) {
    thread_ = std::thread([self = std::move(self)] { self->Run(); });
    name.resize(std::min<size_t>(name.size(), 15));
    pthread_setname_np(thread_.native_handle(), name.c_str());
  }

  void Stop() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (IsWorker()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

  void Schedule(Task task) {
    {
      MutexLock lock(mutex_);
      tasks_.push_back(std::move(task));
      ++scheduled_;
    }
    changed_.notify_all();
  }

  absl::Status Drain() {
    if (IsWorker()) {
      return absl::FailedPreconditionError(
          "WorkerThread::Drain on the worker itself would wait for itself");
    }
    MutexLock lock(mutex_);
    const int64_t until = scheduled_;
    while (done_ < until) changed_.wait(mutex_);
    return absl::OkStatus();
  }

 private:
  bool IsWorker() const {
    return thread_.get_id() == std::this_thread::get_id();
  }

  // The next task, or an empty one when there will be no more.
  Task Next() {
    MutexLock lock(mutex_);
    while (tasks_.empty() && !stopping_) changed_.wait(mutex_);
    if (tasks_.empty()) return nullptr;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

  void Run() {
    while (Task task = Next()) {
      std::move(task)();
      task = nullptr;  // what it holds may schedule more when it goes
      {
        MutexLock lock(mutex_);
        ++done_;
      }
      changed_.notify_all();
    }
  }

  std::thread thread_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Task> tasks_ HSP_GUARDED_BY(mutex_);
  int64_t scheduled_ HSP_GUARDED_BY(mutex_) = 0;
  int64_t done_ HSP_GUARDED_BY(mutex_) = 0;
  bool stopping_ HSP_GUARDED_BY(mutex_) = false;
};

WorkerThread::WorkerThread(std::string name)
    : queue_(std::make_shared<Queue>()) {
  queue_->Start(queue_, std::move(name));
}

WorkerThread::~WorkerThread() { queue_->Stop(); }

void WorkerThread::Schedule(absl::AnyInvocable<void() &&> task) {
  if (task) queue_->Schedule(std::move(task));
}

absl::Status WorkerThread::Drain() { return queue_->Drain(); }

}  // namespace hip_stream_pool
