// SPDX-License-Identifier: Apache-2.0
//
// A million random operations from several threads, with failures, resets and
// misuse, against a model that knows who owns each stream. Prints its seed;
// HIP_STREAM_POOL_SOAK_SEED=N repeats it (with the threads' interleaving left
// to the system), HIP_STREAM_POOL_SOAK_OPERATIONS=N changes the length.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "pool_model.h"
#include "pool_test.h"

namespace hip_stream_pool {
namespace {

using Operation = PoolModel::Operation;

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

// Mostly what programs do.
Operation Choose(PoolModel& model, PoolModel::Owner& owner) {
  const int dice = owner.below(1000);
  if (dice < 1) return Operation::kResetDevice;
  if (dice < 4) return Operation::kMisuse;
  if (dice < 8) return Operation::kTrimAll;
  if (dice < 20) return Operation::kTrim;
  if (dice < 30) return Operation::kPrewarm;
  if (dice < 34) return Operation::kSetLimit;
  if (dice < 36) return Operation::kGlobalCapture;
  if (dice < 40) return Operation::kFail;
  if (dice < 50) return Operation::kDestroyForeign;
  if (dice < 80) return Operation::kBorrow;
  const size_t owned = model.OwnedBy(owner);
  return owned == 0 || (owned < 24 && dice % 2 == 0) ? Operation::kCreate
                                                     : Operation::kDestroy;
}

class PoolSoakTest : public PoolTest {
 protected:
  static constexpr int kThreads = 4;

  void Soak(bool failures, int64_t operations, uint64_t seed) {
    hip.SetLockProbe(nullptr);
    StartOver();
    PoolModel model(failures, kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      PoolModel::Owner& owner = model.owner(t);
      std::mt19937_64 random(seed + t);
      owner.below = [random](int n) mutable {
        return static_cast<int>(random() % n);
      };
      threads.emplace_back([&model, &owner, operations] {
        for (int64_t i = 0; i < operations / kThreads; ++i) {
          model.Do(Choose(model, owner), owner);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    model.Finish();
    EXPECT_THAT(model.faults(), ::testing::IsEmpty())
        << (failures ? "with" : "without") << " failures";
    EXPECT_TRUE(failures || Stats().abandoned == 0);
    EXPECT_GT(Stats().hits, operations / 20);
  }
};

TEST_F(PoolSoakTest, AMillionOperationsLendNothingTwice) {
  const int64_t operations =
      FromEnvironment("HIP_STREAM_POOL_SOAK_OPERATIONS", 1000000);
  const uint64_t seed = FromEnvironment(
      "HIP_STREAM_POOL_SOAK_SEED",
      std::chrono::system_clock::now().time_since_epoch().count() % 1000000);
  const auto start = std::chrono::steady_clock::now();
  Soak(/*failures=*/false, operations / 2, seed);
  Soak(/*failures=*/true, operations / 2, seed + 1000);
  std::printf(
      "%lld operations on %d threads, seed %llu, %.1f s\n",
      static_cast<long long>(operations),
      kThreads,                               // NOLINT(google-runtime-int)
      static_cast<unsigned long long>(seed),  // NOLINT(google-runtime-int)
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count());
}

}  // namespace
}  // namespace hip_stream_pool
