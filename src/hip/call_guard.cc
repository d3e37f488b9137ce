// SPDX-License-Identifier: Apache-2.0
#include "hip/call_guard.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "hip/thread_end.h"

namespace hip_stream_pool {

// Made for the first call of a thread, and left to another thread when that one
// ends. Never freed.
struct alignas(64) CallCount {
  std::atomic<int> calls{0};
  std::atomic<bool> taken{true};
  bool thread_is_watched = false;
  int number = 0;  // of late_calls; else 1 and up
  CallCount* next = nullptr;
};

namespace {

enum class State { kRunning, kExiting, kForkedChild };

constexpr std::chrono::seconds kLongestWaitAtExit{1};

std::atomic<State> state{State::kRunning};

// Whether OnExit can have every thread pass a memory barrier. Then a guard
// needs none of its own.
std::atomic<bool> exit_brings_barrier{false};

// For the threads whose own is gone, and the end of the list of all.
CallCount late_calls;
std::atomic<CallCount*> all_calls{&late_calls};

thread_local CallCount* this_threads_calls = nullptr;
thread_local bool main_thread_ended = false;

// exit() first destroys the thread-local objects of the thread that calls it,
// HIP's among them, and only then runs exit handlers and static destructors.
// Of threads that end, only the main one shows that the process does.
void OnThreadEnd(bool is_main) {
  main_thread_ended = is_main;
  // exit() may have been called in the midst of a call, by a signal handler.
  this_threads_calls->calls.store(0, std::memory_order_release);
  this_threads_calls->thread_is_watched = false;
  this_threads_calls->taken.store(false, std::memory_order_release);
  this_threads_calls = &late_calls;
}

void WatchThisThread() {
  CallAtThreadEnd(OnThreadEnd);
  this_threads_calls->thread_is_watched = true;
}

CallCount& TakeCallCount() {
  CallCount* head = all_calls.load(std::memory_order_acquire);
  for (CallCount* count = head; count != &late_calls; count = count->next) {
    if (!count->taken.load(std::memory_order_relaxed) &&
        !count->taken.exchange(true, std::memory_order_acquire)) {
      return *count;
    }
  }
  static std::atomic<int> last_number{0};
  auto* count = new CallCount;
  count->number = ++last_number;
  count->next = head;
  while (!all_calls.compare_exchange_weak(count->next, count)) {
  }
  return *count;
}

CallCount& ThisThreadsCalls() {
  if (this_threads_calls == nullptr) this_threads_calls = &TakeCallCount();
  return *this_threads_calls;
}

void OnExit() {
  State running = State::kRunning;
  if (!state.compare_exchange_strong(running, State::kExiting)) return;
  if (exit_brings_barrier.load()) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0);
  }
  const auto deadline = std::chrono::steady_clock::now() + kLongestWaitAtExit;
  for (CallCount* count = all_calls.load(); count != nullptr;
       count = count->next) {
    while (count->calls.load() != 0 &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

void OnFork() { state.store(State::kForkedChild); }

}  // namespace

bool MayCallHip() {
  return state.load() == State::kRunning && !main_thread_ended;
}

int ThreadNumber() { return ThisThreadsCalls().number; }

bool IsForkedChild() { return state.load() == State::kForkedChild; }

// The order matters: either OnExit sees the call, or this sees OnExit.
HipCallGuard::HipCallGuard() noexcept : count_(ThisThreadsCalls()) {
  if (&count_ != &late_calls &&
      exit_brings_barrier.load(std::memory_order_relaxed)) {
    count_.calls.store(count_.calls.load(std::memory_order_relaxed) + 1,
                       std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    count_.calls.fetch_add(1);
  }
  may_call_ = MayCallHip();
}

HipCallGuard::~HipCallGuard() {
  if (&count_ == &late_calls) {
    count_.calls.fetch_sub(1, std::memory_order_release);
    return;
  }
  count_.calls.store(count_.calls.load(std::memory_order_relaxed) - 1,
                     std::memory_order_release);
  if (!count_.thread_is_watched) WatchThisThread();
}

// Twice is harmless; a child that is forked in the midst of a static's
// initialization would wait for it for ever.
void WatchForks() {
  static std::atomic<bool> watched{false};
  if (watched.load(std::memory_order_relaxed)) return;
  pthread_atfork(nullptr, nullptr, OnFork);
  watched.store(true, std::memory_order_relaxed);
}

void WatchProcess() {
  static const int once = [] {
    exit_brings_barrier =
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) ==
        0;
    return std::atexit(OnExit);
  }();
  (void)once;
}

void WatchProcessBehindFirstStream() {
  static const int once = std::atexit(OnExit);
  (void)once;
}

}  // namespace hip_stream_pool
