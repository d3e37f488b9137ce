// SPDX-License-Identifier: Apache-2.0
//
// The pool beside other ways to come by a stream that were published, as the
// models of them in peers/: the same work in the same run, and what one gets
// for it.
#ifndef HIP_STREAM_POOL_BENCH_PEERS_H_
#define HIP_STREAM_POOL_BENCH_PEERS_H_

#include <vector>

#include "table.h"

namespace hip_stream_pool {

// Registers the benchmark. Returns what the table shows of it.
std::vector<Table::Section> RegisterPeers();

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_PEERS_H_
