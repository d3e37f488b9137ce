// SPDX-License-Identifier: Apache-2.0
//
// DeviceStreams is the pool of one device: it decides which streams are fit to
// be parked and to be leased, and makes the HIP calls that this takes. A
// HandleStore does the bookkeeping. Thread-safe; no lock is held while HIP
// works.
#ifndef HIP_STREAM_POOL_SRC_DEVICE_STREAMS_H_
#define HIP_STREAM_POOL_SRC_DEVICE_STREAMS_H_

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "handle_store.h"
#include "hip/hip_runtime_api.h"
#include "hip_scope.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "hip_stream_pool/stream_key.h"
#include "stream_calls.h"

namespace hip_stream_pool {

// What DestroyStream says of a stream that is not the device's, as the HIP call
// has shown, if it took one.
absl::Status AnotherDevicesStream(int device_ordinal, const char* call = "");

class DeviceStreams;

// By device ordinal.
using AllStreams = std::vector<std::unique_ptr<DeviceStreams>>;

class DeviceStreams {
 public:
  // `all` are the streams of every device, these too. `hip_version` is that of
  // the HIP that is loaded, as in HIP_VERSION.
  DeviceStreams(int ordinal, const AllStreams& all, int hip_version)
      : ordinal_(ordinal),
        all_(all),
        queries_wait_for_null_stream_(hip_version < 60000000) {}

  // See CreateStream. The key is this device's; its flags are valid. Sets
  // `lease` to the lease's id and, if given, `was_reused` to whether the stream
  // was parked.
  absl::StatusOr<hipStream_t> Create(const StreamKey& key, uint64_t* lease,
                                     bool* was_reused = nullptr);

  // See DestroyStream. Nothing if this device's pool has not made the stream.
  // `lease` is 0 if it is not known.
  std::optional<absl::Status> Destroy(hipStream_t stream,
                                      int max_parked_per_key, uint64_t lease);

  // For a caller that destroys through HIP itself what is not to be parked,
  // and answers with what HIP says of that.
  enum class TakenBack {
    kUnknown,          // this device's pool has not made it
    kParked,           // the pool has it again
    kParkedAfterWait,  // so, when its work was done
    kParkedBefore,     // the pool had it: this is a second destroy
    kLeftToCaller,     // forgotten: unfit to be parked, or invalidated
  };
  TakenBack TakeBack(hipStream_t stream, int max_parked_per_key);

  // Destroys a stream that the pool has not made.
  absl::Status DestroyForeign(hipStream_t stream);

  // Creates and parks a stream if fewer than `wanted` of the key are parked.
  // What is parked is not destroyed for it where memory is short.
  absl::Status Prewarm(const StreamKey& key, int wanted);

  // What the key becomes when its priority is brought into the device's range.
  absl::StatusOr<StreamKey> Normalize(const StreamKey& key);

  // Destroys what is parked, but no stream that is in a capture: that would end
  // the capture. `hip` is of this device. Returns the first error.
  HipResult Trim(HipScope& hip);
  void Invalidate();
  bool Has(hipStream_t stream) const { return store_.Has(stream); }
  bool IsLeased(hipStream_t stream, uint64_t lease) const {
    return store_.IsLeased(stream, lease);
  }
  void AddStatsTo(StreamCacheStats& stats) const;

 private:
  // In HIP the least urgent priority is the larger number; here, least below
  // greatest means that the device has not been asked yet. Aligned so that
  // reading it takes no library of atomic operations.
  struct alignas(2 * sizeof(int)) PriorityRange {
    int least = INT_MIN;
    int greatest = INT_MAX;

    int Clamp(int priority) const {
      return std::clamp(priority, greatest, least);
    }
  };

  HipResult GetPriorityRange(HipScope& hip, PriorityRange* range);
  // nullptr if no parked stream will do.
  hipStream_t Reuse(HipScope& hip, HandleStore::Kind kind, uint64_t* lease);
  // Whether a parked stream can be leased now.
  StreamFinding CheckParked(HipScope& hip, const HandleStore::Ticket& ticket);
  // `may_free`: where memory is short, by destroying what is parked.
  HipResult CreateNew(HipScope& hip, HandleStore::Kind kind, bool may_free,
                      HandleStore::Ticket* made);
  absl::Status ParkOrDestroy(HipScope& hip, const HandleStore::Ticket& ticket,
                             int max_parked_per_key);
  // False if the stream must not be parked; then its ticket is still to be
  // used. `finding` says in which state it was, `waited` whether it had work.
  bool Park(HipScope& hip, const HandleStore::Ticket& ticket,
            int max_parked_per_key, StreamFinding& finding, bool& waited);
  HipResult DestroyNow(HipScope& hip, hipStream_t stream);
  // Of a parked stream that was claimed to be destroyed.
  HipResult DestroyParked(HipScope& hip, const HandleStore::Ticket& ticket);

  const int ordinal_;
  const AllStreams& all_;
  // HIP 5: a query of a blocking stream first queues a marker behind the null
  // stream, so the stream is busy for as long as the null stream is.
  const bool queries_wait_for_null_stream_;
  HandleStore store_;
  std::atomic<PriorityRange> priority_range_{PriorityRange()};

  std::atomic<int64_t> misses_{0};
  std::atomic<int64_t> destroyed_{0};
  std::atomic<int64_t> refused_error_{0};
  std::atomic<int64_t> refused_capturing_{0};
  std::atomic<int64_t> refused_foreign_{0};
  std::atomic<int64_t> refused_over_limit_{0};
  std::atomic<int64_t> refused_key_mismatch_{0};
  std::atomic<int64_t> dropped_stale_{0};
  std::atomic<int64_t> abandoned_{0};
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_DEVICE_STREAMS_H_
