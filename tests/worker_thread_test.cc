// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/worker_thread.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace hip_stream_pool {
namespace {

// absl::Notification, which is not instrumented where Abseil is a package, is
// nothing to ThreadSanitizer.
class Notification {
 public:
  void Notify() {
    std::lock_guard<std::mutex> lock(mutex_);
    notified_ = true;
    changed_.notify_all();
  }
  void WaitForNotification() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return notified_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool notified_ = false;
};

void Nap() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

TEST(WorkerThreadTest, RunsTasksInOrderOnOneThreadOfItsName) {
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  char name[16] = "";
  {
    WorkerThread worker("callbacks of device 0");
    for (int i = 0; i < 100; ++i) {
      worker.Schedule([&, i] {
        order.push_back(i);
        threads.push_back(std::this_thread::get_id());
      });
    }
    worker.Schedule(
        [&] { pthread_getname_np(pthread_self(), name, sizeof(name)); });
    ASSERT_TRUE(worker.Drain().ok());
  }
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
  for (std::thread::id id : threads) {
    EXPECT_EQ(id, threads[0]);
    EXPECT_NE(id, std::this_thread::get_id());
  }
  EXPECT_STREQ(name, "callbacks of de");
}

TEST(WorkerThreadTest, DrainOfAnEmptyQueueReturns) {
  WorkerThread worker("worker");
  EXPECT_TRUE(worker.Drain().ok());
  worker.Schedule([] {});
  EXPECT_TRUE(worker.Drain().ok());
  EXPECT_TRUE(worker.Drain().ok());
}

TEST(WorkerThreadTest, DrainWaitsForTheTaskThatRunsAndForAllBehindIt) {
  WorkerThread worker("worker");
  std::atomic<int> done{0};
  for (int i = 0; i < 5; ++i) {
    worker.Schedule([&] {
      Nap();
      ++done;
    });
  }
  EXPECT_TRUE(worker.Drain().ok());
  EXPECT_EQ(done, 5);
}

TEST(WorkerThreadTest, DrainWaitsUntilTheTaskIsDestroyed) {
  struct Slow {
    std::atomic<bool>* gone;
    ~Slow() {
      Nap();
      *gone = true;
    }
  };
  WorkerThread worker("worker");
  std::atomic<bool> gone{false};
  worker.Schedule([slow = std::unique_ptr<Slow>(new Slow{&gone})] {});
  EXPECT_TRUE(worker.Drain().ok());
  EXPECT_TRUE(gone);
}

TEST(WorkerThreadTest, DrainDoesNotWaitForWhatIsScheduledAfterIt) {
  // A task that schedules itself again and again: a Drain that waited for the
  // queue to be empty would never return.
  std::atomic<bool> stop{false};
  WorkerThread worker("worker");
  std::function<void()> again = [&] {
    if (!stop) worker.Schedule(again);
  };
  worker.Schedule(again);
  EXPECT_TRUE(worker.Drain().ok());
  EXPECT_TRUE(worker.Drain().ok());
  stop = true;
  EXPECT_TRUE(worker.Drain().ok());
}

TEST(WorkerThreadTest, SeveralThreadsMayDrainAtOnce) {
  WorkerThread worker("worker");
  std::atomic<int> faults{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        bool ran = false;
        worker.Schedule([&] { ran = true; });
        if (!worker.Drain().ok() || !ran) ++faults;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, 0);
}

TEST(WorkerThreadTest, DrainOnTheWorkerIsAnErrorAndNoDeadlock) {
  WorkerThread worker("worker");
  absl::Status drained;
  worker.Schedule([&] { drained = worker.Drain(); });
  ASSERT_TRUE(worker.Drain().ok());
  EXPECT_EQ(drained.code(), absl::StatusCode::kFailedPrecondition);
}

TEST(WorkerThreadTest, TheDestructorRunsWhatIsQueuedAndWhatThatSchedules) {
  std::atomic<int> ran{0};
  {
    WorkerThread worker("worker");
    worker.Schedule([] { Nap(); });
    for (int i = 0; i < 10; ++i) {
      worker.Schedule([&] {
        ++ran;
        worker.Schedule([&] {
          ++ran;
          worker.Schedule([&] { ++ran; });
        });
      });
    }
  }
  EXPECT_EQ(ran, 30);
}

TEST(WorkerThreadTest, WhatDestructorsScheduleDuringTeardownRuns) {
  struct SchedulesWhenDestroyed {
    WorkerThread& worker;
    std::atomic<int>& ran;
    ~SchedulesWhenDestroyed() {
      worker.Schedule([&ran = ran] { ++ran; });
    }
  };
  std::atomic<int> ran{0};
  {
    WorkerThread worker("worker");
    SchedulesWhenDestroyed member{worker, ran};
    auto held = std::shared_ptr<SchedulesWhenDestroyed>(
        new SchedulesWhenDestroyed{worker, ran});
    worker.Schedule([held = std::move(held)] { Nap(); });
  }
  EXPECT_EQ(ran, 2);
}

TEST(WorkerThreadTest, ATaskMayDestroyItsWorker) {
  Notification done;
  auto* worker = new std::optional<WorkerThread>(std::in_place, "worker");
  Notification both_scheduled;
  (*worker)->Schedule([&] {
    both_scheduled.WaitForNotification();
    worker->reset();
  });
  (*worker)->Schedule([&] { done.Notify(); });
  both_scheduled.Notify();
  done.WaitForNotification();
  delete worker;
}

TEST(WorkerThreadTest, AnEmptyTaskIsIgnored) {
  WorkerThread worker("worker");
  worker.Schedule(nullptr);
  EXPECT_TRUE(worker.Drain().ok());
}

}  // namespace
}  // namespace hip_stream_pool
