// SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks of threads and of peers compare: ways to come by a stream
// and to give it back. A contender does so over and over, and sees to it that
// no stream was new that should have been reused.
#ifndef HIP_STREAM_POOL_BENCH_CONTENDER_H_
#define HIP_STREAM_POOL_BENCH_CONTENDER_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/stream_key.h"

namespace hip_stream_pool {

class Contender {
 public:
  virtual ~Contender() = default;

  // Has `streams` streams ready on each of the devices from 0. How many there
  // are makes a difference to HIP; so one contender at a time has any.
  virtual absl::Status Start(int devices, int streams) = 0;

  // Comes by a stream of the device and gives it back, so many times. The
  // device is the calling thread's current one. Thread-safe, for as many
  // threads a device as it has streams.
  virtual absl::Status Cycle(int device, int cycles) = 0;

  // How many cycles take long beside a look at the clock, and not very long.
  virtual int cycles_at_once() const { return 8; }

  // Leaves HIP without streams again. Fails if streams were not reused.
  virtual absl::Status End() = 0;
};

// One that others could use in place of the pool.
class Peer : public Contender {
 public:
  virtual absl::StatusOr<hipStream_t> Create(const StreamKey& key) = 0;
  virtual absl::Status Destroy(int device_ordinal, hipStream_t stream) = 0;

  // How many streams that nobody uses it has.
  virtual int kept() = 0;
};

std::unique_ptr<Peer> NewPool();  // this project's
std::unique_ptr<Peer> NewRawHip();
std::unique_ptr<Peer> NewUpstreamCache();
std::unique_ptr<Peer> NewRoundRobinPool();
std::unique_ptr<Peer> NewQueryingRoundRobinPool();

// The bare HIP calls of a hit and a park.
std::unique_ptr<Contender> NewBareCalls();

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_CONTENDER_H_
