// SPDX-License-Identifier: Apache-2.0
//
// What the pool itself costs: a hit and a park, beside the bare HIP calls that
// they cannot do without, of the same streams and in the same minute. And
// whether that grows with what is parked. Fails if the pool allocates memory.
#ifndef HIP_STREAM_POOL_BENCH_FLOOR_H_
#define HIP_STREAM_POOL_BENCH_FLOOR_H_

#include <vector>

#include "table.h"

namespace hip_stream_pool {

// Registers the benchmarks. Returns what the table shows of them.
std::vector<Table::Section> RegisterFloor();

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_FLOOR_H_
