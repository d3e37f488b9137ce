// SPDX-License-Identifier: Apache-2.0
//
// A million random operations from several threads, with failures, resets and
// misuse, against a model that knows who owns each stream. Prints its seed;
// HIP_STREAM_POOL_SOAK_SEED=N repeats it (with the threads' interleaving left
// to the system), HIP_STREAM_POOL_SOAK_OPERATIONS=N changes the length.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pool_test.h"

namespace hip_stream_pool {
namespace {

using scripted_hip::Behavior;
using scripted_hip::ScriptedHip;

#ifdef SCRIPTED_HIP_IS_7_1
constexpr Behavior kBehaviors[] = {Behavior::kHip62, Behavior::kHip70};
constexpr bool kAlwaysInvalidates = false;
#else
constexpr Behavior kBehaviors[] = {Behavior::kHip52, Behavior::kHip57,
                                   Behavior::kHip62};
// Without identities, a pool that is not told of a reset can't know.
constexpr bool kAlwaysInvalidates = true;
#endif

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

class PoolSoakTest : public PoolTest {
 protected:
  static constexpr int kThreads = 4;

  struct Owned {
    hipStream_t stream;
    StreamKey key;
  };
  struct Owner {
    int id;
    std::mt19937_64 random;
    std::vector<Owned> streams;

    int Below(int n) { return static_cast<int>(random() % n); }
    bool OneIn(int n) { return Below(n) == 0; }
  };

  void Fault(const std::string& what) {
    std::lock_guard<std::mutex> lock(model_mutex_);
    if (model_faults_.size() < 10) model_faults_.push_back(what);
  }

  // Two owners of one stream would meet here.
  void TakeOwnership(Owner& owner, const Owned& owned) {
    {
      std::lock_guard<std::mutex> lock(model_mutex_);
      if (!owner_of_.emplace(owned.stream, owner.id).second) {
        model_faults_.push_back("a stream with two owners");
      }
    }
    owner.streams.push_back(owned);
  }

  Owned GiveUpOwnership(Owner& owner) {
    std::swap(owner.streams[owner.Below(owner.streams.size())],
              owner.streams.back());
    const Owned owned = owner.streams.back();
    owner.streams.pop_back();
    std::lock_guard<std::mutex> lock(model_mutex_);
    owner_of_.erase(owned.stream);
    return owned;
  }

  StreamKey RandomKey(Owner& owner) {
    return {owner.Below(kDevices), static_cast<unsigned int>(owner.Below(2)),
            owner.Below(5) - 2};
  }

  void CreateOne(Owner& owner) {
    const StreamKey key = RandomKey(owner);
    absl::StatusOr<hipStream_t> made = CreateStream(key);
    if (!made.ok()) {
      if (!failures_) Fault("create: " + made.status().ToString());
      return;
    }
    const ScriptedHip::Stream stream = hip.Look(*made);
    if (stream.device != key.device_ordinal || stream.flags != key.flags ||
        stream.priority != std::clamp(key.priority, -1, 1)) {
      Fault("a stream that is dead or not of its key: asked for " +
            ToString(key) + ", got " +
            ToString({stream.device, stream.flags, stream.priority}));
    }
    if (stream.busy || stream.capture != hipStreamCaptureStatusNone) {
      Fault("a stream with work or a capture on it");
    }
    TakeOwnership(owner, {*made, key});
  }

  void DestroyOne(Owner& owner) {
    const Owned owned = GiveUpOwnership(owner);
    switch (owner.Below(8)) {
      case 0:
        hip.SetBusy(owned.stream);
        break;
      case 1:
        hip.SetCaptureStatus(owned.stream, hipStreamCaptureStatusActive);
        break;
      case 2:
        hip.SetReadsAs(owned.stream, 1 - owned.key.flags, 0);
        break;
      default:
        break;
    }
    absl::Status status = DestroyStream(owned.key.device_ordinal, owned.stream);
    if (!status.ok() && !failures_) Fault("destroy: " + status.ToString());
  }

  // With no other thread in the pool: what would be a race of the program's
  // own otherwise.
  void MisuseOne(Owner& owner) {
    const Owned owned = GiveUpOwnership(owner);
    const int device = owned.key.device_ordinal;
    if (DestroyStream((device + 1) % kDevices, owned.stream).ok()) {
      Fault("another device's stream was not refused");
    }
    if (owner.OneIn(2)) hip.DestroyElsewhere(owned.stream);
    (void)DestroyStream(device, owned.stream);
    if (DestroyStream(device, owned.stream).ok() && !failures_) {
      Fault("a second destroy was not refused");
    }
  }

  void ResetDevice(Owner& resetter) {
    const int device = resetter.Below(kDevices);
    hip.ResetDevice(device);
    const bool invalidate = kAlwaysInvalidates || resetter.OneIn(2);
    if (invalidate) cache.Invalidate(device);
    for (Owner& owner : owners_) {
      std::vector<Owned> kept;
      for (const Owned& owned : owner.streams) {
        if (owned.key.device_ordinal != device) {
          kept.push_back(owned);
          continue;
        }
        owner_of_.erase(owned.stream);
        if (DestroyStream(device, owned.stream).ok() != invalidate &&
            !failures_) {
          Fault("destroy of a stream that died with its device");
        }
      }
      owner.streams = std::move(kept);
    }
  }

  void FailSomething(Owner& owner) {
    static constexpr const char* kCalls[] = {"hipStreamCreateWithPriority",
                                             "hipStreamDestroy",
                                             "hipStreamQuery",
                                             "hipStreamSynchronize",
                                             "hipStreamGetFlags",
                                             "hipSetDevice",
                                             "hipGetDevice",
                                             "hipStreamIsCapturing"};
    static constexpr hipError_t kErrors[] = {
        hipErrorOutOfMemory, hipErrorLaunchFailure, hipErrorUnknown,
        hipErrorStreamCaptureUnsupported};
    const std::string call = kCalls[owner.Below(8)];
    // These two say nothing of a stream.
    const bool of_device = call == "hipSetDevice" || call == "hipGetDevice";
    hip.Fail(call, of_device ? hipErrorUnknown : kErrors[owner.Below(4)]);
  }

  void Run(Owner& owner, int64_t operations) {
    for (int64_t i = 0; i < operations; ++i) {
      scripted_hip::SetCurrentDevice(kCallersDevice);
      scripted_hip::SetCurrentMode(hipStreamCaptureModeGlobal);
      const int dice = owner.Below(1000);
      if (dice < 4) {
        std::unique_lock<std::shared_mutex> alone(quiet_);
        if (dice == 0) ResetDevice(owner);
        if (dice != 0 && !owner.streams.empty()) MisuseOne(owner);
        continue;
      }
      std::shared_lock<std::shared_mutex> with_others(quiet_);
      if (dice < 8) {
        (void)cache.TrimAll();
      } else if (dice < 20) {
        (void)cache.Trim(owner.Below(kDevices));
      } else if (dice < 30) {
        const StreamKey key = RandomKey(owner);
        (void)cache.Prewarm({key, RandomKey(owner), key});
      } else if (dice < 34) {
        cache.SetMaxParkedPerKey(owner.Below(8));
      } else if (dice < 36) {
        hip.SetGlobalCapture(owner.OneIn(2));
      } else if (dice < 40 && failures_) {
        FailSomething(owner);
      } else if (dice < 50) {
        hipStream_t foreign = hip.CreateElsewhere(owner.Below(kDevices), 0, 0);
        const absl::StatusCode code =
            DestroyStream(hip.Look(foreign).device, foreign).code();
        if (code == absl::StatusCode::kFailedPrecondition ||
            code == absl::StatusCode::kInvalidArgument) {
          // Refused, and still this thread's: its handle is one that died
          // parked, in a reset that the pool was not told of.
          if (kAlwaysInvalidates && !failures_) Fault("a refused stream");
          hip.DestroyElsewhere(foreign);
        }
      } else if (owner.streams.empty() ||
                 (owner.streams.size() < 24 && dice % 2 == 0)) {
        CreateOne(owner);
      } else {
        DestroyOne(owner);
      }
    }
  }

  void Soak(Behavior behavior, bool failures, int64_t operations,
            uint64_t seed) {
    StartOver(behavior);
    hip.SetLockProbe(nullptr);
    hip.ReuseHandles();
    hip.StopRecording();
    failures_ = failures;
    owner_of_.clear();
    model_faults_.clear();
    owners_ = std::vector<Owner>(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      owners_[t].id = t;
      owners_[t].random.seed(seed + t);
      threads.emplace_back(
          [this, t, operations] { Run(owners_[t], operations / kThreads); });
    }
    for (std::thread& thread : threads) thread.join();

    hip.FailNothing();
    hip.SetGlobalCapture(false);
    int64_t owned = 0;
    for (const Owner& owner : owners_) owned += owner.streams.size();
    if (!failures) {
      EXPECT_EQ(Stats().leased_now, owned);
      EXPECT_EQ(Stats().abandoned, 0);
    }
    for (Owner& owner : owners_) {
      while (!owner.streams.empty()) {
        const Owned last = GiveUpOwnership(owner);
        (void)DestroyStream(last.key.device_ordinal, last.stream);
      }
    }
    EXPECT_TRUE(cache.TrimAll().ok());
    EXPECT_EQ(Stats().leased_now, 0);
    EXPECT_EQ(Stats().parked_now, 0);
    EXPECT_TRUE(failures || hip.LiveStreams() == 0) << hip.LiveStreams();
    EXPECT_TRUE(hip.GlobalCaptureSurvived());
    EXPECT_THAT(model_faults_, ::testing::IsEmpty())
        << (failures ? "with" : "without") << " failures, behavior "
        << static_cast<int>(behavior);
    EXPECT_GT(Stats().hits, operations / 20);
  }

  std::shared_mutex quiet_;
  std::mutex model_mutex_;
  std::unordered_map<hipStream_t, int> owner_of_;
  std::vector<std::string> model_faults_;
  std::vector<Owner> owners_;
  bool failures_ = false;
};

TEST_F(PoolSoakTest, AMillionOperationsLendNothingTwice) {
  const int64_t operations =
      FromEnvironment("HIP_STREAM_POOL_SOAK_OPERATIONS", 1000000);
  const uint64_t seed = FromEnvironment(
      "HIP_STREAM_POOL_SOAK_SEED",
      std::chrono::system_clock::now().time_since_epoch().count() % 1000000);
  const auto start = std::chrono::steady_clock::now();
  int rounds = 0;
  for (Behavior behavior : kBehaviors) {
    for (bool failures : {false, true}) {
      Soak(behavior, failures, operations / std::size(kBehaviors) / 2,
           seed + 1000 * ++rounds);
    }
  }
  std::printf(
      "%lld operations on %d threads, seed %llu, %.1f s\n",
      static_cast<long long>(operations),
      kThreads,                               // NOLINT(google-runtime-int)
      static_cast<unsigned long long>(seed),  // NOLINT(google-runtime-int)
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count());
  scripted_hip::SetCurrentDevice(kCallersDevice);
}

}  // namespace
}  // namespace hip_stream_pool
