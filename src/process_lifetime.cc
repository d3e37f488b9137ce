// SPDX-License-Identifier: Apache-2.0
#include "process_lifetime.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>

namespace hip_stream_pool {
namespace {

std::atomic<ProcessState> process_state{ProcessState::kRunning};

void OnExit() {
  auto running = ProcessState::kRunning;
  process_state.compare_exchange_strong(running, ProcessState::kExiting);
}

void OnFork() {
  process_state.store(ProcessState::kForkedChild, std::memory_order_relaxed);
}

}  // namespace

ProcessState GetProcessState() {
  return process_state.load(std::memory_order_relaxed);
}

void WatchProcess() {
  std::atexit(OnExit);
  static const int registered = pthread_atfork(nullptr, nullptr, OnFork);
  (void)registered;
}

}  // namespace hip_stream_pool
