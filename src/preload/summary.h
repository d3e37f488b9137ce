// SPDX-License-Identifier: Apache-2.0
//
// The one line that the preloaded library writes to stderr when the program
// ends, if HIP_STREAM_POOL_SUMMARY is set: what the pool did, and the time that
// it saved, as measured from this process's own calls. No HIP call is made for
// it, and nothing is measured without the variable.
#ifndef HIP_STREAM_POOL_SRC_PRELOAD_SUMMARY_H_
#define HIP_STREAM_POOL_SRC_PRELOAD_SUMMARY_H_

#include <atomic>
#include <chrono>
#include <cstdint>

namespace hip_stream_pool {

// Runs from its construction; stands still if no summary is wanted.
class Stopwatch {
 public:
  Stopwatch();
  std::chrono::nanoseconds Elapsed() const;

 private:
  std::chrono::steady_clock::time_point start_;
};

class Summary {
 public:
  enum Event {
    kHit,        // a stream came from the pool
    kMiss,       // one was created through HIP
    kParked,     // an idle stream was parked
    kDestroyed,  // one was destroyed through HIP
  };

  static Summary& Get();

  void Add(Event event, const Stopwatch& stopwatch);

  // Prints, once, and not in a forked child, unless that has used streams and
  // its parent had not.
  void Print();

 private:
  // The latest of them, so many that a median says what is usual.
  class Times {
   public:
    void Add(std::chrono::nanoseconds time);
    int64_t count() const { return count_; }
    // 0 if there is none.
    double MedianSeconds() const;

   private:
    static constexpr int64_t kKept = 255;
    std::atomic<int64_t> count_{0};
    std::atomic<int64_t> nanoseconds_[kKept] = {};
  };

  Times times_[4];
  std::atomic<bool> had_a_miss_{false};
  std::atomic<int> pid_{0};  // of the process whose times these are
  std::atomic<bool> printed_{false};
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_PRELOAD_SUMMARY_H_
