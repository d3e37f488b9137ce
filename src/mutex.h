// SPDX-License-Identifier: Apache-2.0
//
// std::mutex with the annotations that clang's -Wthread-safety checks.
// absl::Mutex has them too, but no spelling of its scoped lock compiles without
// a warning in every Abseil from 20220623 to 20260526.
#ifndef HIP_STREAM_POOL_SRC_MUTEX_H_
#define HIP_STREAM_POOL_SRC_MUTEX_H_

#include <mutex>

#include "absl/base/thread_annotations.h"

namespace hip_stream_pool {

class ABSL_LOCKABLE Mutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
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
