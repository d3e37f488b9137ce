// SPDX-License-Identifier: Apache-2.0
#include "hip/thread_end.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace hip_stream_pool {
namespace {

struct ThreadEnd {
  void (*const call)(bool is_main);
  const bool is_main = syscall(SYS_gettid) == getpid();
  ~ThreadEnd() { call(is_main); }
};

}  // namespace

void CallAtThreadEnd(void (*call)(bool is_main)) {
  thread_local const ThreadEnd end{call};
  (void)end;
}

}  // namespace hip_stream_pool
