// SPDX-License-Identifier: Apache-2.0
//
// To make a thread-local object takes the loader's lock. Where a constructor
// waits for a thread's first HIP call, the call would wait for that
// constructor. This library is never unloaded, so the threads that start later
// can do with a key of pthreads'.
#include "hip/thread_end.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hip_stream_pool {
namespace {

using Call = void (*)(bool is_main);

struct MainThreadEnd {
  const Call call;
  ~MainThreadEnd() { call(/*is_main=*/true); }
};

struct Key {
  Key() {
    pthread_key_create(&key, [](void* call) {
      reinterpret_cast<Call>(call)(/*is_main=*/false);
    });
  }
  pthread_key_t key;
};

}  // namespace

void CallAtThreadEnd(Call call) {
  if (syscall(SYS_gettid) == getpid()) {
    thread_local const MainThreadEnd end{call};
    (void)end;
    return;
  }
  static const Key other_threads;
  pthread_setspecific(other_threads.key, reinterpret_cast<void*>(call));
}

}  // namespace hip_stream_pool
