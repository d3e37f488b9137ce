// SPDX-License-Identifier: Apache-2.0
//
// What it costs to run on a caller's stream: a StreamContext is bound to it and
// goes back, with the libraries that follow it.
#ifndef HIP_STREAM_POOL_BENCH_EXTERNAL_STREAM_H_
#define HIP_STREAM_POOL_BENCH_EXTERNAL_STREAM_H_

#include "table.h"

namespace hip_stream_pool {

// Registers the benchmarks. Returns what the table shows of them.
Table::Section RegisterExternalStream();

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_EXTERNAL_STREAM_H_
