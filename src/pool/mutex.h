// SPDX-License-Identifier: Apache-2.0
//
// std::mutex, with what clang's thread safety analysis checks. A thread that
// has to wait tries again a few times, less and less often, before it sleeps:
// the pool holds a lock for a few loads and stores, and to be woken up takes a
// thousand times as long (bench/README.md, threads).
#ifndef HIP_STREAM_POOL_SRC_POOL_MUTEX_H_
#define HIP_STREAM_POOL_SRC_POOL_MUTEX_H_

#include <mutex>

#if defined(__clang__)
#define HSP_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define HSP_THREAD_ATTRIBUTE(x)
#endif
#define HSP_GUARDED_BY(mutex) HSP_THREAD_ATTRIBUTE(guarded_by(mutex))
#define HSP_REQUIRES(mutex) HSP_THREAD_ATTRIBUTE(requires_capability(mutex))

namespace hip_stream_pool {

class HSP_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() HSP_THREAD_ATTRIBUTE(acquire_capability()) {
    for (int pauses = 8; pauses <= kMostPauses; pauses *= 2) {
      if (mutex_.try_lock()) return;
      for (int i = 0; i < pauses; ++i) Pause();
    }
    mutex_.lock();
  }
  void unlock() HSP_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  static constexpr int kMostPauses = 1024;  // of some ten nanoseconds each

  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::mutex mutex_;
};

class HSP_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex)
      HSP_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() HSP_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_POOL_MUTEX_H_
