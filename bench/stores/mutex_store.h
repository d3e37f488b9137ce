// SPDX-License-Identifier: Apache-2.0
//
// Parked streams behind one mutex: as the pool does it.
#ifndef HIP_STREAM_POOL_BENCH_STORES_MUTEX_STORE_H_
#define HIP_STREAM_POOL_BENCH_STORES_MUTEX_STORE_H_

#include <vector>

#include "absl/base/thread_annotations.h"
#include "mutex.h"
#include "stores/parked.h"

namespace hip_stream_pool {

class MutexStore {
 public:
  explicit MutexStore(Parked* = nullptr) {}

  void Park(Parked& parked) {
    MutexLock lock(mutex_);
    parked_.push_back(&parked);
  }

  Parked* Take() {
    MutexLock lock(mutex_);
    if (parked_.empty()) return nullptr;
    Parked* const parked = parked_.back();
    parked_.pop_back();
    return parked;
  }

 private:
  Mutex mutex_;
  std::vector<Parked*> parked_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_STORES_MUTEX_STORE_H_
