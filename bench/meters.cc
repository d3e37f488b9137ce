// SPDX-License-Identifier: Apache-2.0
#include "meters.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "table.h"

namespace hip_stream_pool {
namespace {

bool any_failed = false;

}  // namespace

void Fail(benchmark::State& state, const std::string& why) {
  any_failed = true;
  std::fprintf(stderr, "stream_benchmark: %s\n", why.c_str());
  state.SkipWithError(why.c_str());
}

bool AnyFailed() { return any_failed; }

benchmark::Counter TimeOfEach(int count) {
  return {static_cast<double>(count),
          benchmark::Counter::kIsIterationInvariantRate |
              benchmark::Counter::kInvert};
}

int64_t DriverCalls() {
  simulated_hsa::Control* const gpu = simulated_hsa::Get();
  return gpu == nullptr ? 0 : gpu->ReadCounters().driver_calls();
}

void DriverMeter::Start() {
  if (gpu_ == nullptr) return;
  before_ = gpu_->ReadCounters();
  gpu_->SetModel(costs_);
}

void DriverMeter::Stop() {
  if (gpu_ == nullptr) return;
  gpu_->SetModel({});
  const simulated_hsa::Counters after = gpu_->ReadCounters();
  driver_calls_ += after.driver_calls() - before_.driver_calls();
  queues_created_ += after.queues_created - before_.queues_created;
}

void DriverMeter::Report(benchmark::State& state,
                         const std::string& prefix) const {
  if (gpu_ == nullptr) return;
  const auto per_iteration = benchmark::Counter::kAvgIterations;
  state.counters[prefix + kDriverCalls] = {static_cast<double>(driver_calls_),
                                           per_iteration};
  state.counters[prefix + "queues_created"] = {
      static_cast<double>(queues_created_), per_iteration};
}

PoolWork::PoolWork(const StreamCacheStats& before) {
  const StreamCacheStats after = StreamHandleCache::Get().GetStats();
  misses = after.misses - before.misses;
  hits = after.hits - before.hits;
  parked = after.parked_total - before.parked_total;
}

std::string PoolWork::ToString() const {
  return absl::StrCat(hits, " hits, ", misses, " misses, ", parked, " parked");
}

}  // namespace hip_stream_pool
