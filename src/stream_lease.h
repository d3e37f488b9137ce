// SPDX-License-Identifier: Apache-2.0
//
// StreamLease is what events know of the stream that they were recorded on:
// for how long its handle is still the same stream. HIP looks at that stream
// when it is asked about such an event. It breaks a capture that the handle's
// next user has begun (6.4), or reads what was freed (5.7 crashes). So from the
// end of the lease on, HIP is not asked; the work is done then.
//
// Thread-safe. Phases go one way: live, ending, over.
#ifndef HIP_STREAM_POOL_SRC_STREAM_LEASE_H_
#define HIP_STREAM_POOL_SRC_STREAM_LEASE_H_

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/status/status.h"

namespace hip_stream_pool {

class StreamLease {
 public:
  enum class Phase {
    kLive,
    kEnding,  // its work may not be done, its handle may be another's soon
    kOver,    // its work is done
  };

  // While there is one that is live, the lease stays live.
  class Use {
   public:
    // The order matters: either this sees the end, or that sees this. Once it
    // has begun, nobody holds it up.
    explicit Use(StreamLease& lease)
        : lease_(lease), phase_(lease.phase_.load()) {
      if (phase_ != Phase::kLive) return;
      lease_.uses_.fetch_add(1);
      phase_ = lease_.phase_.load();
      if (phase_ != Phase::kLive) Leave();
    }
    ~Use() {
      if (phase_ == Phase::kLive) Leave();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    Phase phase() const { return phase_; }
    // Of the stream's work, as its owner heard. When kOver.
    const absl::Status& error() const { return lease_.error_; }

   private:
    void Leave() { lease_.uses_.fetch_sub(1, std::memory_order_release); }

    StreamLease& lease_;
    Phase phase_;
  };

  StreamLease() = default;
  StreamLease(const StreamLease&) = delete;
  StreamLease& operator=(const StreamLease&) = delete;

  // Before the stream is given back: waits for those who use the lease. None of
  // them waits for the stream's work.
  void BeginToEnd() {
    phase_.store(Phase::kEnding);
    while (uses_.load() != 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    }
  }

  // After it was given back.
  void End(absl::Status error) {
    error_ = std::move(error);
    phase_.store(Phase::kOver);
  }

 private:
  std::atomic<int> uses_{0};
  std::atomic<Phase> phase_{Phase::kLive};
  absl::Status error_;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_STREAM_LEASE_H_
