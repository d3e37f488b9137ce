// SPDX-License-Identifier: Apache-2.0
//
// What the times of many turns come to.
#ifndef HIP_STREAM_POOL_BENCH_STATISTICS_H_
#define HIP_STREAM_POOL_BENCH_STATISTICS_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace hip_stream_pool {

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

// What each of `more` has more than the one of `less` of the same turn. What
// disturbs the machine disturbs both, so that the median of this can be trusted
// where theirs cannot.
inline std::vector<double> Differences(const std::vector<double>& more,
                                       const std::vector<double>& less) {
  std::vector<double> differences(more.size());
  std::transform(more.begin(), more.end(), less.begin(), differences.begin(),
                 [](double a, double b) { return a - b; });
  return differences;
}

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_STATISTICS_H_
