// SPDX-License-Identifier: Apache-2.0

#include "copies.h"

#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "agents.h"
#include "runtime.h"
#include "signals.h"

namespace simulated_hsa {

// Waits on its own, and joins the engine's line when it is ready.
class CopyEngine::Copy : public Task {
 public:
  Copy(CopyEngine* engine, std::function<size_t()> move_bytes,
       hsa_signal_t completion)
      : engine_(engine),
        move_bytes_(std::move(move_bytes)),
        completion_(completion) {}

  void Start(const std::vector<hsa_signal_t>& dependencies) {
    std::vector<SignalWait::Target> targets;
    for (hsa_signal_t signal : dependencies) targets.push_back({signal, {}});
    EventLoop* const loop = &engine_->loop_;
    if (dependencies_.Start(targets, loop, this)) loop->Post(this);
  }

  void Run() override {
    engine_->ready_.emplace_back(this);
    engine_->Run();
  }

  size_t MoveBytes() { return move_bytes_(); }
  hsa_signal_t completion() const { return completion_; }

 private:
  CopyEngine* const engine_;
  const std::function<size_t()> move_bytes_;
  const hsa_signal_t completion_;
  SignalWait dependencies_;
};

CopyEngine::CopyEngine(const std::string& name) : loop_(*new EventLoop(name)) {}
CopyEngine::~CopyEngine() = default;

void CopyEngine::Submit(std::function<size_t()> move_bytes,
                        const std::vector<hsa_signal_t>& dependencies,
                        hsa_signal_t completion) {
  (new Copy(this, std::move(move_bytes), completion))->Start(dependencies);
}

void CopyEngine::Run() {
  Runtime& runtime = Runtime::Get();
  while (!ready_.empty()) {
    if (!started_) {
      started_ = true;
      start_ = Clock::now();
      due_ = start_ + runtime.settings().Get(&Model::copy);
    }
    if (Clock::now() < due_) {
      loop_.PostAt(this, due_);
      return;
    }
    if (runtime.settings().gate().Blocks(&loop_, this)) return;
    const std::unique_ptr<Copy> copy = std::move(ready_.front());
    ready_.pop_front();
    started_ = false;
    runtime.counters().copied_bytes += static_cast<int64_t>(copy->MoveBytes());
    ++runtime.counters().copies;
    if (copy->completion().handle != 0) {
      Signal::From(copy->completion())->Complete(start_, Clock::now());
    }
  }
}

namespace {

// The engine of the device that is written, else of the one that is read.
CopyEngine& EngineFor(hsa_agent_t destination, hsa_agent_t source) {
  Runtime& runtime = Runtime::Get();
  if (IsGpu(destination)) {
    return runtime.device(DeviceOrdinal(destination)).copies_in;
  }
  return runtime.device(IsGpu(source) ? DeviceOrdinal(source) : 0).copies_out;
}

size_t MoveBox(const hsa_pitched_ptr_t& to, const hsa_dim3_t& to_offset,
               const hsa_pitched_ptr_t& from, const hsa_dim3_t& from_offset,
               const hsa_dim3_t& range) {
  const auto row = [](const hsa_pitched_ptr_t& box, const hsa_dim3_t& offset,
                      size_t y, size_t z) {
    return static_cast<char*>(box.base) + (offset.z + z) * box.slice +
           (offset.y + y) * box.pitch + offset.x;
  };
  for (size_t z = 0; z < range.z; ++z) {
    for (size_t y = 0; y < range.y; ++y) {
      std::memmove(row(to, to_offset, y, z), row(from, from_offset, y, z),
                   range.x);
    }
  }
  return size_t{range.x} * range.y * range.z;
}

}  // namespace
}  // namespace simulated_hsa

using simulated_hsa::EngineFor;

hsa_status_t hsa_amd_memory_async_copy(void* to, hsa_agent_t to_agent,
                                       const void* from, hsa_agent_t from_agent,
                                       size_t size, uint32_t dependency_count,
                                       const hsa_signal_t* dependencies,
                                       hsa_signal_t completion) {
  EngineFor(to_agent, from_agent)
      .Submit(
          [=] {
            std::memmove(to, from, size);
            return size;
          },
          {dependencies, dependencies + dependency_count}, completion);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_async_copy_rect(
    const hsa_pitched_ptr_t* to, const hsa_dim3_t* to_offset,
    const hsa_pitched_ptr_t* from, const hsa_dim3_t* from_offset,
    const hsa_dim3_t* range, hsa_agent_t agent,
    hsa_amd_copy_direction_t direction, uint32_t dependency_count,
    const hsa_signal_t* dependencies, hsa_signal_t completion) {
  const bool out = direction == hsaDeviceToHost;
  const hsa_agent_t host = simulated_hsa::HostAgent();
  EngineFor(out ? host : agent, out ? agent : host)
      .Submit(
          [to = *to, to_offset = *to_offset, from = *from,
           from_offset = *from_offset, range = *range] {
            return simulated_hsa::MoveBox(to, to_offset, from, from_offset,
                                          range);
          },
          {dependencies, dependencies + dependency_count}, completion);
  return HSA_STATUS_SUCCESS;
}

// The first two are from HIP 5.7, the third is from HIP 7. HSA headers before
// interface version 1.2 do not declare them, nor the enumeration of the
// engine's number; it is passed as an int.
extern "C" {

hsa_status_t hsa_amd_memory_copy_engine_status(hsa_agent_t, hsa_agent_t,
                                               uint32_t* engine_ids_mask) {
  *engine_ids_mask = 1;
  return HSA_STATUS_SUCCESS;
}

#if HSA_AMD_INTERFACE_VERSION_MAJOR == 1 && HSA_AMD_INTERFACE_VERSION_MINOR < 2
using hsa_amd_sdma_engine_id_t = int;
#endif

hsa_status_t hsa_amd_memory_async_copy_on_engine(
    void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent,
    size_t size, uint32_t dependency_count, const hsa_signal_t* dependencies,
    hsa_signal_t completion, hsa_amd_sdma_engine_id_t, bool) {
  return hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size,
                                   dependency_count, dependencies, completion);
}

hsa_status_t hsa_amd_memory_get_preferred_copy_engine(
    hsa_agent_t to_agent, hsa_agent_t from_agent, uint32_t* engine_ids_mask) {
  return hsa_amd_memory_copy_engine_status(to_agent, from_agent,
                                           engine_ids_mask);
}

}  // extern "C"
