// SPDX-License-Identifier: Apache-2.0
//
// How many cycles of creating a stream and destroying it several threads get
// through, all on one device or each on its own: through the pool, through its
// peers, and through stores of parked streams with other ways of locking, for
// the question whether a plain mutex is good enough.
#ifndef HIP_STREAM_POOL_BENCH_THREADS_H_
#define HIP_STREAM_POOL_BENCH_THREADS_H_

#include <vector>

#include "table.h"

namespace hip_stream_pool {

// Registers the benchmarks for a machine with so many devices. Returns what the
// table shows of them. `quick`: with a quarter of the turns.
std::vector<Table::Section> RegisterThreads(int devices, bool quick);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_THREADS_H_
