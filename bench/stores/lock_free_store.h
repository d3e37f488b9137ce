// SPDX-License-Identifier: Apache-2.0
//
// Parked streams in a linked stack without a lock (Treiber's). The head is the
// number of the first and a version, which changes with every change: so a
// thread that was asleep meanwhile notices it.
#ifndef HIP_STREAM_POOL_BENCH_STORES_LOCK_FREE_STORE_H_
#define HIP_STREAM_POOL_BENCH_STORES_LOCK_FREE_STORE_H_

#include <atomic>
#include <cstdint>

#include "stores/parked.h"

namespace hip_stream_pool {

class LockFreeStore {
 public:
  // `all`: the streams that can be parked, by number, the first at 0.
  explicit LockFreeStore(Parked* all) : all_(all) {}

  void Park(Parked& parked) {
    Head head = head_.load(std::memory_order_relaxed);
    do {
      parked.next.store(head.first, std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(
        head, {parked.number, head.version + 1}, std::memory_order_release,
        std::memory_order_relaxed));
  }

  Parked* Take() {
    Head head = head_.load(std::memory_order_acquire);
    for (;;) {
      if (head.first == 0) return nullptr;
      Parked& parked = all_[head.first - 1];
      // Perhaps another thread has it by now; then the exchange fails.
      const uint32_t next = parked.next.load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, {next, head.version + 1},
                                      std::memory_order_acquire,
                                      std::memory_order_acquire)) {
        return &parked;
      }
    }
  }

 private:
  struct alignas(8) Head {
    uint32_t first;
    uint32_t version;
  };

  Parked* const all_;
  alignas(64) std::atomic<Head> head_{Head{0, 0}};
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_STORES_LOCK_FREE_STORE_H_
