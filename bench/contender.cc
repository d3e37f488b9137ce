// SPDX-License-Identifier: Apache-2.0
#include "contender.h"

#include <atomic>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bare_calls.h"
#include "benchmark/benchmark.h"
#include "client.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "meters.h"
#include "peers/round_robin_pool.h"
#include "peers/upstream_cache.h"

namespace hip_stream_pool {
namespace {

// `Pool` has Create and Destroy.
template <typename Pool>
class PeerOf : public Peer {
 public:
  absl::StatusOr<hipStream_t> Create(const StreamKey& key) override {
    return pool_.Create(key);
  }
  absl::Status Destroy(int device_ordinal, hipStream_t stream) override {
    return pool_.Destroy(device_ordinal, stream);
  }
  absl::Status Cycle(int device, int cycles) override {
    for (int i = 0; i < cycles; ++i) {
      absl::StatusOr<hipStream_t> stream = pool_.Create({device});
      if (!stream.ok()) return stream.status();
      absl::Status status = pool_.Destroy(device, *stream);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 protected:
  Pool pool_;
};

// For what is two functions and no object.
template <const StreamCalls& kCalls>
struct Functions {
  absl::StatusOr<hipStream_t> Create(const StreamKey& key) {
    return kCalls.create(key);
  }
  absl::Status Destroy(int device_ordinal, hipStream_t stream) {
    return kCalls.destroy(device_ordinal, stream);
  }
};

class Ours : public PeerOf<Functions<kPooled>> {
 public:
  absl::Status Start(int devices, int streams) override {
    std::vector<StreamKey> keys(static_cast<size_t>(devices) * streams);
    for (size_t i = 0; i < keys.size(); ++i) {
      keys[i].device_ordinal = static_cast<int>(i) % devices;
    }
    absl::Status status = StreamHandleCache::Get().Prewarm(keys);
    before_ = StreamHandleCache::Get().GetStats();
    return status;
  }
  absl::Status End() override {
    const PoolWork done(before_);
    absl::Status status = StreamHandleCache::Get().TrimAll();
    if (status.ok() && !done.Is(0, done.hits)) {
      status = absl::InternalError("the pool: " + done.ToString());
    }
    return status;
  }
  int kept() override {
    return static_cast<int>(StreamHandleCache::Get().GetStats().parked_now);
  }

 private:
  StreamCacheStats before_;
};

// No pool at all. Beside so many streams that exist: some HIP calls take longer
// then.
class Raw : public PeerOf<Functions<kRaw>> {
 public:
  absl::Status Start(int devices, int streams) override {
    others_.emplace(devices * streams, devices);
    return others_->CreateAll(kRaw);
  }
  int cycles_at_once() const override { return 1; }
  absl::Status End() override { return others_->DestroyAll(kRaw); }
  int kept() override { return 0; }

 private:
  std::optional<Client> others_;
};

class Upstream : public PeerOf<UpstreamCache> {
 public:
  absl::Status Start(int devices, int streams) override {
    started_with_ = devices * streams;
    Client client(devices * streams, devices);
    absl::Status status = client.CreateAll(kRaw);
    for (int i = 0; i < client.streams() && status.ok(); ++i) {
      status = pool_.Destroy(client.key(i).device_ordinal, client.stream(i));
    }
    return status;
  }
  absl::Status End() override {
    const int more = pool_.kept() - started_with_;
    absl::Status status = pool_.Clear();
    if (status.ok() && more != 0) {
      status = absl::InternalError(
          absl::StrCat("the upstream cache has ", more, " streams more"));
    }
    return status;
  }
  int kept() override { return pool_.kept(); }

 private:
  int started_with_ = 0;
};

template <bool kQuery>
class RoundRobin : public PeerOf<RoundRobinPool<kQuery>> {
 public:
  absl::Status Start(int devices, int streams) override {
    kept_ = devices * streams;
    return this->pool_.Fill(devices, streams);
  }
  absl::Status End() override { return this->pool_.Clear(); }
  int kept() override { return kept_; }

 private:
  int kept_ = 0;
};

class BareCallsAlone : public Contender {
 public:
  absl::Status Start(int devices, int streams) override {
    absl::Status status;
    for (int device = 0; device < devices && status.ok(); ++device) {
      devices_.emplace_back(std::vector<StreamKey>(streams, StreamKey{device}));
      status = devices_.back().CreateAll(kRaw);
    }
    return status;
  }
  absl::Status Cycle(int device, int cycles) override {
    // A stream for each thread.
    static std::atomic<int> threads{0};
    thread_local const int thread = threads.fetch_add(1);
    Client& client = devices_[device];
    hipStream_t stream = client.stream(thread % client.streams());
    for (int i = 0; i < cycles; ++i) {
      if (!BareHit(stream, hipStreamDefault) || !BarePark(stream)) {
        return BareCallFailed();
      }
    }
    return absl::OkStatus();
  }
  absl::Status End() override {
    absl::Status status;
    for (Client& client : devices_) status.Update(client.DestroyAll(kRaw));
    devices_.clear();
    return status;
  }

 private:
  std::deque<Client> devices_;
};

}  // namespace

std::unique_ptr<Peer> NewPool() { return std::make_unique<Ours>(); }
std::unique_ptr<Peer> NewRawHip() { return std::make_unique<Raw>(); }
std::unique_ptr<Peer> NewUpstreamCache() {
  return std::make_unique<Upstream>();
}
std::unique_ptr<Peer> NewRoundRobinPool() {
  return std::make_unique<RoundRobin</*kQuery=*/false>>();
}
std::unique_ptr<Peer> NewQueryingRoundRobinPool() {
  return std::make_unique<RoundRobin</*kQuery=*/true>>();
}

std::unique_ptr<Contender> NewBareCalls() {
  return std::make_unique<BareCallsAlone>();
}

}  // namespace hip_stream_pool
