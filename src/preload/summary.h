// SPDX-License-Identifier: Apache-2.0
//
// The one line that the preloaded library writes to stderr when the program
// ends, if HIP_STREAM_POOL_SUMMARY is set: what the pool did, and the time that
// it saved. That time is a lower bound, from the shortest call of HIP's own
// that was timed in this process: never from a creation that started a device
// up, which takes up to a second, that waited for such a one, or that may have
// made a hardware queue, which later creations share. No HIP call is made for
// the line, and nothing is timed without the variable.
#ifndef HIP_STREAM_POOL_SRC_PRELOAD_SUMMARY_H_
#define HIP_STREAM_POOL_SRC_PRELOAD_SUMMARY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/real_hip.h"

namespace hip_stream_pool {

// Nanoseconds on this thread, since its construction, outside of the HIP calls
// that the pool replaces. Stands still if no summary is wanted.
class Stopwatch {
 public:
  Stopwatch();
  int64_t InPool() const;

 private:
  int64_t start_ = 0;
};

class Summary {
 public:
  enum Half { kCreate, kDestroy };

  // A call of the program's that took so long in the pool, and whether the pool
  // answered it in HIP's place.
  void Add(Half half, bool answered, const Stopwatch& stopwatch);

  // A call of HIP's own. A creation starts its device up if it begins before
  // the first one there has returned.
  class Start;
  Start BeginCreation(int device, int priority);
  void EndCreation(const Start& start, bool succeeded, int64_t nanoseconds);
  void AddDestroy(int64_t nanoseconds);

  // The device has to be started up again.
  void NoteReset(int device);

  // Prints, once, and not in a forked child, unless that has used streams and
  // its parent had not. Takes no lock: exit may have been called by a signal
  // handler.
  void Print();

 private:
  static constexpr int kMostDevices = 256;
  static constexpr int kPriorities = 3;     // -1 to 1
  static constexpr int kMostThreads = 256;  // at one time; others save nothing
  static constexpr int64_t kNotTimed = INT64_MAX;

  // Of one thread after the other: what they saved adds up. Threads that run
  // beside each other save the time of one.
  struct Calls {
    std::atomic<int64_t> answered{0};
    std::atomic<int64_t> in_pool_answered{0};  // nanoseconds, all
    std::atomic<int64_t> in_pool_others{0};
  };

  bool IsTimed(Half half) const { return shortest_of_hip_[half] != kNotTimed; }
  void AddHips(Half half, int64_t nanoseconds);
  // The most that any thread is sure to have saved. May be negative.
  int64_t Saved() const;
  void WriteSaved(char* text, size_t size) const;
  void PrintUnused(int pid) const;

  Calls calls_[kMostThreads][2];
  std::atomic<int64_t> shortest_of_hip_[2] = {{kNotTimed}, {kNotTimed}};
  std::atomic<bool> is_started_[kMostDevices] = {};
  // Creations that have returned.
  std::atomic<int> created_[kMostDevices][kPriorities] = {};
  std::atomic<uint64_t> startups_begun_{0};
  std::atomic<uint64_t> startups_ended_{0};
  std::atomic<int> pid_{0};  // of the process whose times these are
  std::atomic<bool> printed_{false};
};

class Summary::Start {
 private:
  friend class Summary;
  int device;
  int priority;  // from 0
  bool is_startup;
  bool may_make_queue;
  bool is_alone;  // with no start-up beside it
  uint64_t startups_begun;
};

extern Summary summary;

// Has the calls of the pool through this timed, if a summary is wanted.
void TimeCallsForSummary(RealHip& hip);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_PRELOAD_SUMMARY_H_
