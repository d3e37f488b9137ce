// SPDX-License-Identifier: Apache-2.0
//
// What programs see of HIP with the pool under it, and how they end.
#include "gmock/gmock.h"
#include "preload/preload_testing.h"

namespace {

using ::testing::HasSubstr;

// From 7.0, HIP does not check: with a stream that does not exist it crashes,
// or answers 0.
constexpr bool kHipChecksStreams = HIP_VERSION < 70000000;

TEST(EveryAnswerIsHips, ToBadAndOddArguments) {
  Comparison({"hip_calls", "Arguments", "FlagsAndPriorities", "LastError",
              "SpecialStreams"})
      .ExpectEndedWith(0);
  if (!kHipChecksStreams) return;
  Comparison({"hip_calls", "DestroyedTwice", "NeverAStream"})
      .ExpectEndedWith(0);
}

TEST(PreloadRuntimeTest, ADestroyedStreamIsRefusedAlsoWhereHipDoesNotCheck) {
  const Outcome outcome =
      Program({"hip_calls", "DestroyedTwice", "DestroyedByAReset"})
          .Preload(kPool)
          .Run();
  EXPECT_EQ(outcome.status, 0);
  // In each of three rounds: twice, once and once.
  size_t refused = 0;
  for (size_t at = 0;
       (at = outcome.out.find("): 709,", at)) != std::string::npos; ++at) {
    ++refused;
  }
  EXPECT_EQ(refused, 3 * 4u) << outcome.out;
}

TEST(EveryAnswerIsHips, OfStreamsWithWork) {
  Comparison({"hip_calls", "BusyDestroy", "Work", "CuMasks", "OtherThreads"})
      .ExpectEndedWith(0);
}

TEST(EveryAnswerIsHips, OfEventsThatOutliveTheirStream) {
  const Comparison events({"hip_calls", "EventsOutliveTheirStream"});
  if (WIFSIGNALED(events.without.status)) {
    // 5.7 often does. With the pool it works.
    GTEST_SKIP() << "this HIP does not survive it";
  }
}

TEST(EveryAnswerIsHips, AroundStreamCaptures) {
  Comparison({"hip_calls", "CaptureModeIsLeftAlone", "CaptureGlobal",
              "CaptureThreadLocal", "CaptureRelaxed"})
      .ExpectEndedWith(0);
  Comparison({"hip_calls", "CapturingStreamDestroyed"}).ExpectEndedWith(0);
  Comparison({"hip_calls", "CapturesSecondStreamDestroyed"}).ExpectEndedWith(0);
}

TEST(EveryAnswerIsHips, OnSeveralDevicesAndAfterResets) {
  Comparison({"hip_calls", "Devices", "Contexts"}).ExpectEndedWith(0);
  if (kHipChecksStreams) Comparison({"hip_calls", "Reset"}).ExpectEndedWith(0);
}

TEST(EveryAnswerIsHips, WithoutMemoryAndWithoutADevice) {
  const Program program({"hip_calls", "NothingWorks"});
  Comparison(Program(program)
                 .Set("SIMULATED_HSA_FAIL_ALLOCATE", "all")
                 .Set("SIMULATED_HSA_FAIL_QUEUE_CREATE", "all"));
  Comparison(Program(program).Set("SIMULATED_HSA_FAIL_QUEUE_CREATE", "all"));
  Comparison(Program(program).Set("HIP_VISIBLE_DEVICES", ""));
}

TEST(PreloadRuntimeTest, ACycleOfStreamsCallsTheDriverOnceOnly) {
  const Comparison cycle(
      Program({"hip_calls", "Cycle"}).Set("HIP_STREAM_POOL_MAX_PARKED", "112"));
  if (cycle.without.driver_calls < 0) GTEST_SKIP() << "needs the simulated GPU";
  EXPECT_LT(cycle.with.driver_calls, cycle.without.driver_calls / 10);
}

TEST(PreloadRuntimeTest, SixteenThreadsOnAllDevicesOwnTheirStreamsAlone) {
  const Comparison threads(
      Program({"many_threads"}).Set("SIMULATED_HSA_DEVICES", "8"));
  threads.ExpectEndedWith(0);
  threads.ExpectFewerDriverCalls();
}

TEST(PreloadRuntimeTest, AProgramEndsAsItDoesWithoutThePool) {
  const auto ends = [](const char* way, int code) {
    SCOPED_TRACE(way);
    const Comparison end({"program_ends", way});
    EXPECT_EQ(end.with.status, end.without.status);
    // 6.4 crashes when another thread than main calls exit.
    if (WIFEXITED(end.without.status)) end.ExpectEndedWith(code);
  };
  ends("NothingUsed", 0);
  ends("LiveStreams", 0);
  ends("QuickExit", 4);
  ends("ExitFromAThread", 3);
  ends("HandlerDestroys", 0);
}

TEST(PreloadRuntimeTest, AProgramForksAsItDoesWithoutThePool) {
  for (const char* way : {"ForkBeforeUse", "ForkAfterUse", "ChildUses"}) {
    SCOPED_TRACE(way);
    Comparison({"program_ends", way}).ExpectEndedWith(0);
  }
}

TEST(PreloadRuntimeTest, ALibraryThatKeepsAStreamGetsThePool) {
#ifdef HAS_ROCSPARSE
  const Comparison client({"rocsparse_client"});
  client.ExpectEndedWith(0);
  client.ExpectFewerDriverCalls();
#else
  GTEST_SKIP() << "needs rocSPARSE";
#endif
}

TEST(PreloadRuntimeTest, CanBeSwitchedOff) {
  for (const char* off : {"off", "0"}) {
    const Program program =
        Program({"hip_calls", "Cycle"}).Set("HIP_STREAM_POOL_PRELOAD", off);
    const Comparison cycle(program);
    EXPECT_EQ(cycle.with.driver_calls, cycle.without.driver_calls);
    EXPECT_THAT(Summary(program),
                HasSubstr("hits 0, misses 0: switched off\n"));
    Comparison(Program({"opens_library", PathOfHip()})
                   .Set("HIP_STREAM_POOL_PRELOAD", off))
        .ExpectEndedWith(0);
  }
  const Outcome unknown = Program({"hip_calls", "Cycle"})
                              .Set("HIP_STREAM_POOL_PRELOAD", "no")
                              .Preload(kPool)
                              .Run();
  EXPECT_THAT(unknown.err, HasSubstr("\"no\", neither \"on\" nor \"off\""));
}

TEST(PreloadRuntimeTest, TheLimitIsTheEnvironments) {
  const Program program({"hip_calls", "Cycle"});
  EXPECT_THAT(Summary(Program(program).Set("HIP_STREAM_POOL_MAX_PARKED", "0")),
              HasSubstr("hits 0, misses 2240, parked 0 (0 now)"));
  EXPECT_THAT(Summary(Program(program).Set("HIP_STREAM_POOL_MAX_PARKED", "5")),
              HasSubstr("hits 95, misses 2145, parked 100 (5 now)"));
  EXPECT_THAT(Summary(Program(program).Set("HIP_STREAM_POOL_MAX_PARKED", "32")),
              HasSubstr("hits 608, misses 1632, parked 640 (32 now)"));
  EXPECT_THAT(Summary(program),
              HasSubstr("hits 2128, misses 112, parked 2240 (112 now)"));
}

}  // namespace
