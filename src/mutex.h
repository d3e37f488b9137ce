// SPDX-License-Identifier: Apache-2.0
//
// A mutex for the library's critical sections, which are a few loads and stores
// long: one atomic operation to lock, none to unlock. That is half of what
// std::mutex and absl::Mutex cost, and the locks were half of what the pool
// adds to HIP's calls (bench/README.md). It has the annotations that clang's
// -Wthread-safety checks.
//
// A thread that finds it locked spins with growing pauses, then yields, then
// sleeps: the holder may have been preempted.
#ifndef HIP_STREAM_POOL_SRC_MUTEX_H_
#define HIP_STREAM_POOL_SRC_MUTEX_H_

#include <atomic>

#include "absl/base/thread_annotations.h"

namespace hip_stream_pool {

class ABSL_LOCKABLE Mutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    if (locked_.exchange(true, std::memory_order_acquire)) LockAfterWaiting();
  }
  void unlock() ABSL_UNLOCK_FUNCTION() {
    locked_.store(false, std::memory_order_release);
  }

 private:
  void LockAfterWaiting();

  std::atomic<bool> locked_{false};
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_MUTEX_H_
