// SPDX-License-Identifier: Apache-2.0

#include "runtime.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

namespace simulated_hsa {
namespace {

// Stops the threads when the process ends or the library is unloaded. It is
// constructed when the library is loaded, so before any object of the HIP
// runtime, and runs after all of theirs.
struct StopAtExit {
  ~StopAtExit() { Runtime::Get().StopForExit(); }
} stop_at_exit;

// HIP does not wait at exit for the functions that it has called when a signal
// completes, and HIP 7 crashes if one still runs while it destroys its objects.
// On a GPU that is a matter of microseconds; the thread here may wait longer
// for a busy machine's processor. HIP's objects are there before hsa_init is
// called, so this handler runs before their destructors.
void FinishAtExit() { Runtime::Get().FinishForExit(); }

}  // namespace

Device::Device(int ordinal)
    : ordinal(ordinal),
      packets(*new EventLoop("hsa packets " + std::to_string(ordinal))),
      copies_in("hsa copy in " + std::to_string(ordinal)),
      copies_out("hsa copy out " + std::to_string(ordinal)) {}

Runtime& Runtime::Get() {
  static Runtime* const runtime = new Runtime;
  return *runtime;
}

Runtime::Runtime()
    : process_(getpid()), handlers_(*new EventLoop("hsa events")) {
  for (int i = 0; i < settings_.device_count(); ++i) {
    devices_.push_back(std::make_unique<Device>(i));
  }
}

bool Runtime::Start() {
  if (!settings_.valid()) return false;
  static const int registered = std::atexit(FinishAtExit);
  (void)registered;
  const std::lock_guard<std::mutex> lock(mutex_);
  ++starts_;
  return true;
}

bool Runtime::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (starts_ == 0) return false;
    if (--starts_ > 0) return true;
  }
  for (EventLoop* loop : Loops()) loop->Stop();
  return true;
}

void Runtime::FinishForExit() {
  if (getpid() != process_) return;  // as below
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(1);
  // Who sees that a signal has completed may be here before its handlers are
  // posted. So first come the threads that complete signals.
  std::vector<EventLoop*> loops = Loops();
  std::reverse(loops.begin(), loops.end());
  for (EventLoop* loop : loops) loop->WaitUntilIdle(deadline);
}

void Runtime::StopForExit() {
  // A forked child has none of the threads, and perhaps locks nobody holds.
  if (getpid() != process_) return;
  for (EventLoop* loop : Loops()) loop->StopForExit();
}

std::vector<EventLoop*> Runtime::Loops() {
  std::vector<EventLoop*> loops = {&handlers_};
  for (const auto& device : devices_) {
    loops.push_back(&device->packets);
    loops.push_back(&device->copies_in.loop());
    loops.push_back(&device->copies_out.loop());
  }
  return loops;
}

}  // namespace simulated_hsa
