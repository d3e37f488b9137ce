// SPDX-License-Identifier: Apache-2.0
//
// Driver costs for the simulated GPU with which a raw stream costs what it was
// measured to cost on real ones. Source: openxla/xla pull request 42952, one
// client on 8 MI300X: 112 hipStreamCreateWithPriority take 385 ms, and 112
// hipStreamDestroy 375 ms.
//
// Only these two sums are measured. Where the driver spends them is our
// assumption: in the memory that HIP allocates for a stream and frees with it.
// HIP versions differ in how many such calls a stream takes, so these are
// counted when the program runs.
#ifndef HIP_STREAM_POOL_BENCH_MI300X_COSTS_H_
#define HIP_STREAM_POOL_BENCH_MI300X_COSTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "client.h"
#include "simulated_hsa/simulated_hsa.h"

namespace hip_stream_pool {

struct DriverCosts {
  std::string name;   // in a benchmark's name
  std::string title;  // in the table
  simulated_hsa::Model model;
  // The parameters of the model and what a raw stream costs with them.
  std::string description;
  std::string where;  // in the closing line
};

// Creates and destroys the client's streams, once to count and once to see what
// they cost then. The simulated GPU adds no cost afterwards.
absl::StatusOr<DriverCosts> FindMi300xCosts(simulated_hsa::Control& gpu,
                                            Client& client);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_MI300X_COSTS_H_
