// SPDX-License-Identifier: Apache-2.0
//
// What it costs to know who has written a buffer: SequencingEvent beside HIP's
// event calls, and a pipeline of TrackedBuffers beside one whose events are
// recorded and waited for by hand.
#ifndef HIP_STREAM_POOL_BENCH_SEQUENCING_H_
#define HIP_STREAM_POOL_BENCH_SEQUENCING_H_

#include "table.h"

namespace hip_stream_pool {

// Registers the benchmarks. Returns what the table shows of them.
Table::Section RegisterSequencing();

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_SEQUENCING_H_
