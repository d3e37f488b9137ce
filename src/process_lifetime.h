// SPDX-License-Identifier: Apache-2.0
//
// Whether this process may still call HIP. HIP tears itself down while the
// process exits, and does not work in a child that was forked after HIP had
// started. In both, a handle is nothing but a number.
#ifndef HIP_STREAM_POOL_SRC_PROCESS_LIFETIME_H_
#define HIP_STREAM_POOL_SRC_PROCESS_LIFETIME_H_

#include <atomic>

namespace hip_stream_pool {

// False from the moment that this thread, as the main thread, or the process
// begins to exit, and in a forked child.
bool MayCallHip();

bool IsForkedChild();

// For as long as one of these lives that may call HIP, exit waits before HIP
// is torn down, for a second at most. Every HIP call of the library is made
// under one. Cheap: threads that pass different `shard`s share nothing.
class HipCallGuard {
 public:
  explicit HipCallGuard(int shard);
  ~HipCallGuard() { calls_.fetch_sub(1, std::memory_order_release); }
  HipCallGuard(const HipCallGuard&) = delete;
  HipCallGuard& operator=(const HipCallGuard&) = delete;

  bool may_call() const { return may_call_; }

 private:
  std::atomic<int>& calls_;
  bool may_call_;
};

// From here on, exit and fork are noticed. To be called when HIP has started,
// and again behind every stream that is created, on that thread: exit handlers
// and the destructors of thread-local objects run last in, first out, so ours
// then come before those of HIP and of all that HIP has loaded.
void WatchProcess();

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_PROCESS_LIFETIME_H_
