// SPDX-License-Identifier: Apache-2.0
//
// RoundRobinPool models the fixed pools of RAPIDS RMM (the documentation of
// rmm::cuda_stream_pool: 16 streams) and of PyTorch (the note on stream pools
// in c10/cuda/CUDAStream.h: 32 a device and priority): streams that are made
// once and dealt out in turn by an atomic counter. Nobody owns one; a user who
// comes when all are dealt shares one with an earlier user, and nothing is
// given back. With `kQuery`, those that are busy are passed over, as by a
// careful user of such a pool. Written from those descriptions; no code of
// theirs is here.
#ifndef HIP_STREAM_POOL_BENCH_PEERS_ROUND_ROBIN_POOL_H_
#define HIP_STREAM_POOL_BENCH_PEERS_ROUND_ROBIN_POOL_H_

#include <atomic>
#include <cstddef>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/stream_key.h"

namespace hip_stream_pool {

// One kind of stream on each device. Create and Destroy are thread-safe.
template <bool kQuery>
class RoundRobinPool {
 public:
  // RMM's number of streams on a device is a parameter, 16 by default.
  absl::Status Fill(int devices, int streams) {
    for (int device = 0; device < devices; ++device) {
      devices_.emplace_back().streams.resize(streams);
      for (hipStream_t& stream : devices_.back().streams) {
        absl::StatusOr<hipStream_t> created = kRaw.create({device});
        if (!created.ok()) return created.status();
        stream = *created;
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<hipStream_t> Create(const StreamKey& key) {
    Device& device = devices_[key.device_ordinal];
    const size_t streams = device.streams.size();
    for (size_t i = 0; i < streams; ++i) {
      const size_t turn = device.next.fetch_add(1, std::memory_order_relaxed);
      const hipStream_t stream = device.streams[turn % streams];
      if (!kQuery || hipStreamQuery(stream) == hipSuccess) return stream;
    }
    return absl::UnavailableError("every stream is busy");
  }

  absl::Status Destroy(int, hipStream_t) { return absl::OkStatus(); }

  absl::Status Clear() {
    absl::Status status;
    for (size_t device = 0; device < devices_.size(); ++device) {
      for (hipStream_t stream : devices_[device].streams) {
        status.Update(kRaw.destroy(static_cast<int>(device), stream));
      }
    }
    devices_.clear();
    return status;
  }

 private:
  struct alignas(64) Device {
    std::vector<hipStream_t> streams;
    std::atomic<size_t> next{0};
  };
  std::deque<Device> devices_;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_PEERS_ROUND_ROBIN_POOL_H_
