// SPDX-License-Identifier: Apache-2.0
//
// Parked streams in 16 stores, each with a mutex. A thread parks in its own,
// and takes from its own first, then from the others.
#ifndef HIP_STREAM_POOL_BENCH_STORES_SHARDED_STORE_H_
#define HIP_STREAM_POOL_BENCH_STORES_SHARDED_STORE_H_

#include <array>
#include <atomic>
#include <cstddef>

#include "stores/mutex_store.h"
#include "stores/parked.h"

namespace hip_stream_pool {

class ShardedStore {
 public:
  explicit ShardedStore(Parked*) {}

  void Park(Parked& parked) { shards_[ThreadNumber()].Park(parked); }

  Parked* Take() {
    for (size_t i = 0; i < kShards; ++i) {
      Shard& shard = shards_[(ThreadNumber() + i) % kShards];
      if (Parked* parked = shard.Take()) return parked;
    }
    return nullptr;
  }

 private:
  static constexpr size_t kShards = 16;
  struct alignas(64) Shard : MutexStore {};

  static size_t ThreadNumber() {
    static std::atomic<size_t> threads{0};
    thread_local const size_t number = threads.fetch_add(1) % kShards;
    return number;
  }

  std::array<Shard, kShards> shards_;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_STORES_SHARDED_STORE_H_
