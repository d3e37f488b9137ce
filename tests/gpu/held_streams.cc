// SPDX-License-Identifier: Apache-2.0
#include "gpu/held_streams.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "simulated_hsa/simulated_hsa.h"

namespace hip_stream_pool {

struct HeldStreams::Gate {
  static void WaitFor(hipStream_t, hipError_t, void* argument) {
    std::unique_ptr<std::shared_ptr<Gate>> gate(
        static_cast<std::shared_ptr<Gate>*>(argument));
    std::unique_lock<std::mutex> lock((*gate)->mutex);
    (*gate)->opened.wait(lock, [&] { return (*gate)->is_open; });
  }

  std::mutex mutex;
  std::condition_variable opened;
  bool is_open = false;
};

HeldStreams::HeldStreams(const std::vector<hipStream_t>& streams)
    : gate_(std::make_shared<Gate>()) {
  if (simulated_hsa::Control* simulation = simulated_hsa::Get()) {
    simulation->Hold();
    return;
  }
  for (hipStream_t stream : streams) {
    const hipError_t error = hipStreamAddCallback(
        stream, Gate::WaitFor, new std::shared_ptr<Gate>(gate_), /*flags=*/0);
    if (error == hipSuccess) continue;
    std::fprintf(stderr, "HeldStreams: %s\n", hipGetErrorName(error));
    std::abort();
  }
}

void HeldStreams::Release() {
  std::lock_guard<std::mutex> lock(gate_->mutex);
  if (gate_->is_open) return;
  gate_->is_open = true;
  gate_->opened.notify_all();
  if (simulated_hsa::Control* simulation = simulated_hsa::Get()) {
    simulation->Release();
  }
}

}  // namespace hip_stream_pool
