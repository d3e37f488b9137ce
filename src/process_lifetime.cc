// SPDX-License-Identifier: Apache-2.0
#include "process_lifetime.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace hip_stream_pool {
namespace {

enum class State { kRunning, kExiting, kForkedChild };

constexpr std::chrono::seconds kLongestWaitAtExit{1};
constexpr int kShards = 16;

struct alignas(64) Shard {
  std::atomic<int> calls{0};
};

std::atomic<State> state{State::kRunning};
Shard shards[kShards];

// exit() first destroys the thread-local objects of the thread that calls it,
// HIP's among them, and only then runs exit handlers and static destructors.
// Of threads that end, only the main one shows that the process does.
thread_local bool main_thread_ended = false;

struct MainThreadEnd {
  ~MainThreadEnd() { main_thread_ended = true; }
};

bool IsMainThread() { return syscall(SYS_gettid) == getpid(); }

void OnExit() {
  State running = State::kRunning;
  if (!state.compare_exchange_strong(running, State::kExiting)) return;
  const auto deadline = std::chrono::steady_clock::now() + kLongestWaitAtExit;
  for (const Shard& shard : shards) {
    while (shard.calls.load() != 0 &&
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

bool IsForkedChild() { return state.load() == State::kForkedChild; }

// The order matters: either OnExit sees the call, or this sees OnExit.
HipCallGuard::HipCallGuard(int shard)
    : calls_(shards[static_cast<unsigned>(shard) % kShards].calls) {
  calls_.fetch_add(1);
  may_call_ = MayCallHip();
}

void WatchForks() {
  static const int once = pthread_atfork(nullptr, nullptr, OnFork);
  (void)once;
}

void WatchProcess() {
  static const int once = std::atexit(OnExit);
  (void)once;
  WatchThisThread();
}

void WatchProcessBehindFirstStream() {
  static const int once = std::atexit(OnExit);
  (void)once;
}

void WatchThisThread() {
  thread_local const bool is_main = IsMainThread();
  if (!is_main) return;
  thread_local MainThreadEnd end;
  (void)end;
}

}  // namespace hip_stream_pool
