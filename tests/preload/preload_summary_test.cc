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

// A cost of HIP's driver, and of how many streams 5.2.3 then has a second.
TEST(PreloadSummaryTest, ClaimsNoMoreThanTheProgramSaves) {
  for (const auto& [variable, microseconds] :
       {std::pair("SIMULATED_HSA_ALLOCATE_US", "8000"),
        std::pair("SIMULATED_HSA_SIGNAL_DESTROY_US", "300"),
        std::pair("SIMULATED_HSA_QUEUE_CREATE_US", "8000")}) {
    for (const char* threads : {"1", "8"}) {
      for (const char* devices : {"1", "2", "8"}) {
        SCOPED_TRACE(std::string(variable) + " " + threads + " " + devices);
        const Program program = Program({"timed_streams", threads, devices})
                                    .Set("SIMULATED_HSA_DEVICES", "8")
                                    .Set(variable, microseconds)
                                    .Set("HIP_STREAM_POOL_SUMMARY", "1");
        const Outcome without = program.Run();
        if (without.driver_calls < 0) GTEST_SKIP() << "no simulated GPU";
        const Outcome with = Program(program).Preload(kPool).Run();
        const double saved =
            (std::stod(without.out) - std::stod(with.out)) / 1000;
        EXPECT_LE(Claim(with.err), saved * 1.1 + 20) << with.err;
      }
    }
  }
}

TEST(PreloadSummaryTest, ClaimsWhatOneThreadIsSureToSave) {
  const Program program = Program({"timed_streams", "1", "1"})
                              .Set("SIMULATED_HSA_ALLOCATE_US", "8000");
  if (program.Run().driver_calls < 0) GTEST_SKIP() << "needs the simulated GPU";
  // 38 that were not created.
  EXPECT_GE(Claim(Summary(program)), 38 * 8 * 0.9);
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
