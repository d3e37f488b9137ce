// SPDX-License-Identifier: Apache-2.0
//
// What the whole of a client costs, from its first stream to its last, as the
// executor of tests/executor is one: the streams of each role, events in flight
// and a thread for callbacks on each device. And what the pool costs others:
// the streams that it has parked, beside which a program does its work.
#ifndef HIP_STREAM_POOL_BENCH_CLIENT_CYCLE_H_
#define HIP_STREAM_POOL_BENCH_CLIENT_CYCLE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "mi300x_costs.h"
#include "table.h"

namespace hip_stream_pool {

// Registers the benchmarks, with the costs of the MI300X if the GPU is
// simulated, and with none added. Returns what the table shows of them.
// `quick`: with a tenth of the clients one after the other.
absl::StatusOr<std::vector<Table::Section>> RegisterClientCycles(
    int devices, const DriverCosts& no_costs, bool quick);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_CLIENT_CYCLE_H_
