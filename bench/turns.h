// SPDX-License-Identifier: Apache-2.0
//
// Several ways to do something are measured by turns: a short block of each,
// over and over. What disturbs the machine then disturbs all of them, and what
// a block of one takes more than the block of another beside it is a difference
// that can be trusted; its median all the more.
#ifndef HIP_STREAM_POOL_BENCH_TURNS_H_
#define HIP_STREAM_POOL_BENCH_TURNS_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace hip_stream_pool {

// How long the function takes, in seconds.
template <typename Function>
double Seconds(const Function& function) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  function();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The number that `share` of the numbers are below. 0 if there are none.
inline double Quantile(std::vector<double> numbers, double share) {
  if (numbers.empty()) return 0;
  const auto at =
      numbers.begin() +
      static_cast<ptrdiff_t>(share * static_cast<double>(numbers.size() - 1));
  std::nth_element(numbers.begin(), at, numbers.end());
  return *at;
}

inline double Median(const std::vector<double>& numbers) {
  return Quantile(numbers, 0.5);
}

// What each of `more` has more than the one of `less` of the same turn.
inline std::vector<double> Differences(const std::vector<double>& more,
                                       const std::vector<double>& less) {
  std::vector<double> differences(more.size());
  std::transform(more.begin(), more.end(), less.begin(), differences.begin(),
                 [](double a, double b) { return a - b; });
  return differences;
}

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_TURNS_H_
