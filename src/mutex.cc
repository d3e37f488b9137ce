// SPDX-License-Identifier: Apache-2.0
#include "mutex.h"

#include <chrono>
#include <thread>

namespace hip_stream_pool {
namespace {

constexpr int kMostPauses = 1024;  // of some ten nanoseconds each
constexpr int kYields = 100;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void Mutex::LockAfterWaiting() {
  int pauses = 8;
  int yields = 0;
  do {
    if (pauses <= kMostPauses) {
      for (int i = 0; i < pauses; ++i) Pause();
      pauses *= 2;
    } else if (yields < kYields) {
      std::this_thread::yield();
      ++yields;
    } else {
      // A real-time thread does not yield to the holder.
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  } while (locked_.load(std::memory_order_relaxed) ||
           locked_.exchange(true, std::memory_order_acquire));
}

}  // namespace hip_stream_pool
