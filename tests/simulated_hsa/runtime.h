// SPDX-License-Identifier: Apache-2.0
//
// The process's simulated HSA runtime: its devices, and what all parts share.

#ifndef HIP_STREAM_POOL_TESTS_SIMULATED_HSA_RUNTIME_H_
#define HIP_STREAM_POOL_TESTS_SIMULATED_HSA_RUNTIME_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "copies.h"
#include "event_loop.h"
#include "settings.h"

namespace simulated_hsa {

// The stored half of Counters, member by member.
struct AtomicCounters {
  std::atomic<int64_t> queues_created{0};
  std::atomic<int64_t> queues_destroyed{0};
  std::atomic<int64_t> queue_changes{0};
  std::atomic<int64_t> allocations{0};
  std::atomic<int64_t> frees{0};
  std::atomic<int64_t> access_grants{0};
  std::atomic<int64_t> locks{0};
  std::atomic<int64_t> unlocks{0};
  std::atomic<int64_t> signals_created{0};
  std::atomic<int64_t> signals_destroyed{0};
  std::atomic<int64_t> blocking_waits{0};
  std::atomic<int64_t> handlers_added{0};
  std::atomic<int64_t> handlers_run{0};
  std::atomic<int64_t> copies{0};
  std::atomic<int64_t> copied_bytes{0};
  std::atomic<int64_t> dispatches{0};
  std::atomic<int64_t> barriers{0};
  std::atomic<int64_t> live_bytes{0};
};

struct Device {
  explicit Device(int ordinal);

  const int ordinal;
  EventLoop& packets;  // runs the packets of all its queues
  CopyEngine copies_in;
  CopyEngine copies_out;
};

class Runtime {
 public:
  // Never destroyed: the HIP runtime may call until the very end.
  static Runtime& Get();

  bool Start();          // hsa_init; false if the settings are not valid
  bool Stop();           // hsa_shut_down; false if not started
  void FinishForExit();  // what has been completed; before the HIP runtime ends
  void StopForExit();

  Settings& settings() { return settings_; }
  AtomicCounters& counters() { return counters_; }
  EventLoop& handlers() { return handlers_; }
  Device& device(int ordinal) { return *devices_[ordinal]; }

 private:
  Runtime();
  std::vector<EventLoop*> Loops();

  const pid_t process_;
  Settings settings_;
  AtomicCounters counters_;
  EventLoop& handlers_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::mutex mutex_;
  int starts_ = 0;  // guarded by mutex_
};

}  // namespace simulated_hsa

#endif  // HIP_STREAM_POOL_TESTS_SIMULATED_HSA_RUNTIME_H_
