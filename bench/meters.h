// SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks share: how they fail, and what they time and count.
#ifndef HIP_STREAM_POOL_BENCH_METERS_H_
#define HIP_STREAM_POOL_BENCH_METERS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "benchmark/benchmark.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "simulated_hsa/simulated_hsa.h"

namespace hip_stream_pool {

// The pool's limit for streams of one key, and the most that are parked.
inline constexpr int kMostParked = 1024;

// Ends the benchmark, and the program with an error when all are done.
void Fail(benchmark::State& state, const std::string& why);
bool AnyFailed();

// How long the function takes, in seconds.
template <typename Function>
double Seconds(const Function& function) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  function();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// An iteration's time for each of the `count` things that it does.
benchmark::Counter TimeOfEach(int count);

// So far. 0 on a real GPU.
int64_t DriverCalls();

// Counts what the simulated driver does, and makes it cost what it is to cost,
// between Start and Stop. Does nothing on a real GPU.
class DriverMeter {
 public:
  explicit DriverMeter(const simulated_hsa::Model& costs) : costs_(costs) {}

  void Start();
  void Stop();

  // The calls of an iteration, as counters with the prefix.
  void Report(benchmark::State& state, const std::string& prefix = "") const;

 private:
  simulated_hsa::Control* const gpu_ = simulated_hsa::Get();
  const simulated_hsa::Model costs_;
  simulated_hsa::Counters before_;
  int64_t driver_calls_ = 0;
  int64_t queues_created_ = 0;
};

// How many streams the pool created, reused and parked between two readings.
struct PoolWork {
  explicit PoolWork(const StreamCacheStats& before);

  bool Is(int64_t all_misses, int64_t all_hits) const {
    return misses == all_misses && hits == all_hits &&
           parked == all_misses + all_hits;
  }
  std::string ToString() const;

  int64_t misses, hits, parked;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_METERS_H_
