// SPDX-License-Identifier: Apache-2.0
#include "contender.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bare_calls.h"
#include "benchmark/benchmark.h"
#include "client.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "meters.h"
#include "peers/round_robin_pool.h"
#include "peers/upstream_cache.h"
#include "stores/lock_free_store.h"
#include "stores/mutex_store.h"
#include "stores/parked.h"
#include "stores/sharded_store.h"

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

// Streams of a device, made by HIP.
class DeviceStreamsByHip {
 public:
  DeviceStreamsByHip(int device, int streams)
      : client_(std::vector<StreamKey>(streams, StreamKey{device})),
        parked_(streams) {}

  absl::Status Create() {
    absl::Status status = client_.CreateAll(kRaw);
    for (int i = 0; i < client_.streams(); ++i) {
      parked_[i].stream = client_.stream(i);
      parked_[i].number = i + 1;
    }
    return status;
  }
  absl::Status Destroy() { return client_.DestroyAll(kRaw); }
  std::vector<Parked>& parked() { return parked_; }

 private:
  Client client_;
  std::vector<Parked> parked_;
};

bool BareCycle(hipStream_t stream) {
  return BareHit<BareCalls::kOfThisVersion>(stream) &&
         BarePark<BareCalls::kOfThisVersion>(stream);
}

class BareCallsAlone : public Contender {
 public:
  absl::Status Start(int devices, int streams) override {
    for (int device = 0; device < devices; ++device) {
      absl::Status status = devices_.emplace_back(device, streams).Create();
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  absl::Status Cycle(int device, int cycles) override {
    // A stream for each thread.
    static std::atomic<size_t> threads{0};
    thread_local const size_t thread = threads.fetch_add(1);
    std::vector<Parked>& parked = devices_[device].parked();
    hipStream_t stream = parked[thread % parked.size()].stream;
    for (int i = 0; i < cycles; ++i) {
      if (!BareCycle(stream)) return BareCallFailed();
    }
    return absl::OkStatus();
  }
  absl::Status End() override {
    absl::Status status;
    for (DeviceStreamsByHip& device : devices_) status.Update(device.Destroy());
    devices_.clear();
    return status;
  }

 private:
  std::deque<DeviceStreamsByHip> devices_;
};

// In place of the HIP calls: some 350 ns that need nothing but a core.
bool Calculate(hipStream_t stream) {
  auto number = reinterpret_cast<uintptr_t>(stream);
  for (int i = 0; i < 350; ++i) {
    number = number * 6364136223846793005 + 1;
    benchmark::DoNotOptimize(number);
  }
  return true;
}

template <typename Store, bool (*kUse)(hipStream_t)>
class StoreOf : public Contender {
 public:
  absl::Status Start(int devices, int streams) override {
    for (int i = 0; i < devices; ++i) {
      Device& device = devices_.emplace_back(i, streams);
      absl::Status status = device.streams.Create();
      if (!status.ok()) return status;
      for (Parked& parked : device.streams.parked()) device.store.Park(parked);
    }
    return absl::OkStatus();
  }
  absl::Status Cycle(int device, int cycles) override {
    Store& store = devices_[device].store;
    for (int i = 0; i < cycles; ++i) {
      Parked* parked = store.Take();
      // A sharded store can miss one that moves while it searches.
      for (int tries = 0; parked == nullptr && tries < 1000; ++tries) {
        std::this_thread::yield();
        parked = store.Take();
      }
      if (parked == nullptr) return absl::InternalError("nothing is parked");
      if (!kUse(parked->stream)) return BareCallFailed();
      store.Park(*parked);
    }
    return absl::OkStatus();
  }
  absl::Status End() override {
    absl::Status status;
    for (Device& device : devices_) {
      size_t parked = 0;
      while (device.store.Take() != nullptr) ++parked;
      if (parked != device.streams.parked().size()) {
        status.Update(absl::InternalError("a store has lost a stream"));
      }
      status.Update(device.streams.Destroy());
    }
    devices_.clear();
    return status;
  }

 private:
  struct alignas(64) Device {
    Device(int device, int count)
        : streams(device, count), store(streams.parked().data()) {}

    DeviceStreamsByHip streams;
    Store store;
  };
  std::deque<Device> devices_;
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
std::unique_ptr<Contender> NewMutexStore() {
  return std::make_unique<StoreOf<MutexStore, BareCycle>>();
}
std::unique_ptr<Contender> NewMutexStoreAlone() {
  return std::make_unique<StoreOf<MutexStore, Calculate>>();
}
std::unique_ptr<Contender> NewShardedStore() {
  return std::make_unique<StoreOf<ShardedStore, BareCycle>>();
}
std::unique_ptr<Contender> NewShardedStoreAlone() {
  return std::make_unique<StoreOf<ShardedStore, Calculate>>();
}
std::unique_ptr<Contender> NewLockFreeStore() {
  return std::make_unique<StoreOf<LockFreeStore, BareCycle>>();
}
std::unique_ptr<Contender> NewLockFreeStoreAlone() {
  return std::make_unique<StoreOf<LockFreeStore, Calculate>>();
}

}  // namespace hip_stream_pool
