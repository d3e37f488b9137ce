// SPDX-License-Identifier: Apache-2.0
//
// The line that HIP_STREAM_POOL_SUMMARY asks for.
#include <cstdio>
#include <cstring>

#include "gmock/gmock.h"
#include "preload/preload_testing.h"

namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(PreloadSummaryTest, IsOneLineAndOfOneProcess) {
  for (const char* way : {"ForkAfterUse", "ForkBeforeUse", "LiveStreams"}) {
    const std::string summary = Summary(Program({"program_ends", way}));
    EXPECT_THAT(summary, StartsWith("hip-stream-pool["));
    EXPECT_EQ(summary.find('\n'), summary.size() - 1) << summary;
  }
  for (const char* off : {"off", "0", ""}) {
    const Outcome outcome = Program({"program_ends", "LiveStreams"})
                                .Set("HIP_STREAM_POOL_SUMMARY", off)
                                .Preload(kPool)
                                .Run();
    EXPECT_THAT(outcome.err, IsEmpty());
  }
}

// In milliseconds; -1 if it is not known.
double Claim(const std::string& summary) {
  constexpr char kClaim[] = "saved at least ";
  const size_t at = summary.find(kClaim);
  double value = -1;
  char unit[4] = "";
  if (at == std::string::npos ||
      std::sscanf(summary.c_str() + at + strlen(kClaim), "%lf %3[a-z]", &value,
                  unit) != 2) {
    return -1;
  }
  return value * (*unit == 's' ? 1000 : *unit == 'm' ? 1 : 0.001);
}

// Runs timed_streams with a cost of HIP's driver, and returns the claim and the
// milliseconds that the program really saved.
struct Savings {
  Savings(const char* threads, const char* devices, const char* start,
          const char* cost) {
    const Program program =
        Program({"timed_streams", threads, devices, start})
            .Set("SIMULATED_HSA_DEVICES", "8")
            .Set(cost, strstr(cost, "SIGNAL") != nullptr ? "50" : "3000")
            .Set("HIP_STREAM_POOL_SUMMARY", "1");
    const Outcome raw = program.Run();
    const Outcome pooled = Program(program).Preload(kPool).Run();
    is_simulated = raw.driver_calls >= 0;
    summary = pooled.err;
    claim = Claim(summary);
    without = std::atof(raw.out.c_str()) / 1000;
    real = without - std::atof(pooled.out.c_str()) / 1000;
  }
  bool is_simulated;
  std::string summary;
  double claim;
  double without;
  double real;
};

TEST(PreloadSummaryTest, ClaimsNoMoreThanTheProgramSaves) {
  for (const char* cost :
       {"SIMULATED_HSA_ALLOCATE_US", "SIMULATED_HSA_SIGNAL_DESTROY_US",
        "SIMULATED_HSA_QUEUE_CREATE_US"}) {
    for (const auto& [threads, devices] :
         {std::pair("1", "1"), std::pair("1", "8"), std::pair("8", "1"),
          std::pair("8", "8")}) {
      SCOPED_TRACE(std::string(cost) + " " + threads + " " + devices);
      // A machine that does something else besides makes one run longer than
      // the other. A claim that is too large is so each time.
      std::string too_large;
      for (int i = 0; i < 4; ++i) {
        const Savings savings(threads, devices, "warm", cost);
        if (!savings.is_simulated) GTEST_SKIP() << "needs the simulated GPU";
        if (savings.claim <= savings.real * 1.05 + 10) {
          too_large.clear();
          break;
        }
        too_large += std::to_string(savings.real) + ": " + savings.summary;
      }
      EXPECT_EQ(too_large, "");
    }
  }
}

// Where the first creation of each device, which takes long, is on a thread of
// its own, all at once.
TEST(PreloadSummaryTest, ClaimsNothingOfTheStartOfDevices) {
  for (const char* threads : {"1", "2", "8"}) {
    const Savings savings(threads, "8", "cold", "SIMULATED_HSA_ALLOCATE_US");
    if (!savings.is_simulated) GTEST_SKIP() << "needs the simulated GPU";
    // 36 streams of a thread, at two allocations and HIP's own part.
    EXPECT_LE(savings.claim, 36 * 10) << savings.summary;
    EXPECT_LE(savings.claim, savings.without) << savings.summary;
  }
}

TEST(PreloadSummaryTest, ClaimsWhatOneThreadIsSureToSave) {
  const Program program = Program({"timed_streams", "1", "1", "warm"})
                              .Set("SIMULATED_HSA_ALLOCATE_US", "3000");
  if (program.Run().driver_calls < 0) GTEST_SKIP() << "needs the simulated GPU";
  // 30 that were not created.
  EXPECT_GE(Claim(Summary(program)), 30 * 3 * 0.9);
}

// Each is its device's first.
TEST(PreloadSummaryTest, WhereOnlyDevicesStartedTheSavingsAreUnknown) {
  const std::string summary =
      Summary(Program({"hip_calls", "OneStreamOfEachDevice"})
                  .Set("SIMULATED_HSA_ALLOCATE_US", "1000"));
  EXPECT_THAT(summary, HasSubstr("savings unknown (HIP not timed)"));
}

TEST(PreloadSummaryTest, ExitInASignalHandlerEndsTheProgram) {
  for (int i = 0; i < 200; ++i) {
    const Outcome outcome =
        Program({"exits_in_handler", std::to_string(500 + 37 * (i % 50))})
            .Preload(kPool)
            .Set("HIP_STREAM_POOL_SUMMARY", "1")
            .Run();
    ASSERT_EQ(outcome.status, 0) << i;
    ASSERT_THAT(outcome.err, HasSubstr("misses 1, "));
  }
}

}  // namespace
