// SPDX-License-Identifier: Apache-2.0
//
// Runs programs that know nothing of the pool, in C and with nothing linked to
// it, twice: as they are, and with libhip_stream_pool_preload.so. They must
// print the same.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/hip_runtime_api.h"

namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Strings = std::vector<std::string>;

constexpr char kPool[] = PRELOAD_LIBRARY;
constexpr char kCounter[] = COUNT_DRIVER_CALLS;

std::string InFolder(const std::string& name) {
  return std::string(PROGRAMS) + "/" + name;
}

std::string Read(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct Outcome {
  int status = -1;  // as waitpid has it
  std::string out;
  std::string err;
  int64_t driver_calls = -1;  // -1: the program wrote none
};

class Program {
 public:
  explicit Program(Strings command) : command_(std::move(command)) {
    command_[0] = InFolder(command_[0]);
  }

  Program& Preload(const std::string& library) {
    preloaded_ += library + ":";
    return *this;
  }
  Program& Set(const char* variable, const std::string& value) {
    variables_.push_back({variable, value});
    return *this;
  }

  Outcome Run() const {
    std::string path = ::testing::TempDir() + "preload_runtime_test.XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    const pid_t pid = fork();
    if (pid == 0) Execute(path);
    Outcome outcome;
    EXPECT_EQ(waitpid(pid, &outcome.status, 0), pid);
    outcome.out = Read(path + "/out");
    outcome.err = Read(path + "/err");
    std::ifstream(path + "/calls") >> outcome.driver_calls;
    for (const char* file : {"/out", "/err", "/calls"}) {
      unlink((path + file).c_str());
    }
    rmdir(path.c_str());
    return outcome;
  }

 private:
  [[noreturn]] void Execute(const std::string& path) const {
    const auto redirect = [&](const char* file, int to) {
      dup2(open((path + file).c_str(), O_CREAT | O_WRONLY, 0600), to);
    };
    redirect("/out", STDOUT_FILENO);
    redirect("/err", STDERR_FILENO);
    for (const auto& [variable, value] : variables_) {
      setenv(variable, value.c_str(), 1);
    }
    setenv("DRIVER_CALLS_FILE", (path + "/calls").c_str(), 1);
    setenv("LD_PRELOAD", (preloaded_ + kCounter).c_str(), 1);
    std::vector<char*> argv;
    for (const std::string& argument : command_) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    alarm(60);  // lasts over exec
    execv(argv[0], argv.data());
    _exit(127);
  }

  Strings command_;
  std::string preloaded_;
  std::vector<std::pair<const char*, std::string>> variables_;
};

// What HIP is to the programs that open it.
std::string PathOfHip() {
  Dl_info info = {};
  EXPECT_NE(dladdr(reinterpret_cast<void*>(&hipStreamCreate), &info), 0);
  return info.dli_fname;
}

// Runs the program with the pool and without it.
struct Comparison {
  explicit Comparison(Strings command) : Comparison(Program(command)) {}
  explicit Comparison(const Program& program)
      : without(program.Run()), with(Program(program).Preload(kPool).Run()) {
    // Some programs HIP itself does not survive.
    if (WIFSIGNALED(without.status)) return;
    EXPECT_EQ(with.out, without.out);
    EXPECT_EQ(with.err, without.err) << "it is quiet";
    EXPECT_EQ(with.status, without.status);
  }

  void ExpectEndedWith(int code) const {
    EXPECT_TRUE(WIFEXITED(without.status)) << without.err;
    EXPECT_EQ(WEXITSTATUS(without.status), code) << without.err;
  }
  void ExpectFewerDriverCalls() const {
    if (without.driver_calls < 0) return;  // a real GPU
    EXPECT_LT(with.driver_calls, without.driver_calls);
  }

  Outcome without;
  Outcome with;
};

// The line that HIP_STREAM_POOL_SUMMARY has the pool write.
std::string Summary(Program program) {
  const Outcome outcome =
      program.Preload(kPool).Set("HIP_STREAM_POOL_SUMMARY", "1").Run();
  EXPECT_EQ(outcome.status, 0);
  return outcome.err;
}

TEST(EveryAnswerIsHips, ToBadAndOddArguments) {
  Comparison({"hip_calls", "Arguments", "FlagsAndPriorities", "LastError",
              "DestroyedTwice", "NeverAStream", "SpecialStreams"})
      .ExpectEndedWith(0);
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
  Comparison({"hip_calls", "Devices", "Contexts", "Reset"}).ExpectEndedWith(0);
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

TEST(PreloadRuntimeTest, AProgramThatOpensHipGetsThePool) {
  for (const char* scope : {"", "+"}) {
    const Program program({"opens_library", scope + PathOfHip()});
    const Comparison opened(program);
    opened.ExpectEndedWith(0);
    opened.ExpectFewerDriverCalls();
    const std::string summary = Summary(program);
    EXPECT_THAT(summary, HasSubstr("hits 38, misses 2,"));
    // HIP was seen to create a stream, and not to destroy one.
    EXPECT_THAT(summary, HasSubstr("saved at least "));
    EXPECT_THAT(summary, HasSubstr("destroy: HIP not measured"));
  }
}

TEST(PreloadRuntimeTest, APluginThatLinksHipGetsThePool) {
  for (const char* scope : {"", "+"}) {
    const Program program(
        {"opens_library", scope + InFolder("libhip_plugin.so")});
    const Comparison opened(program);
    opened.ExpectEndedWith(0);
    opened.ExpectFewerDriverCalls();
    EXPECT_THAT(Summary(program), HasSubstr("hits 38, misses 2,"));
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

TEST(PreloadRuntimeTest, WithoutHipThereIsNothingToSee) {
  const Program program({"opens_library"});
  Comparison(program).ExpectEndedWith(0);
  EXPECT_THAT(Summary(program), IsEmpty());
}

TEST(PreloadRuntimeTest, StandsAsideFromAHipThatLacksSomething) {
  for (const char* scope : {"", "+"}) {
    const Program program(
        {"opens_library", scope + InFolder("libother_hip_plugin.so")});
    const Outcome without = program.Run();
    const Outcome with = Program(program).Preload(kPool).Run();
    EXPECT_EQ(with.out, without.out);
    EXPECT_EQ(with.status, 0);
    EXPECT_EQ(with.err,
              "hip-stream-pool: stands aside, and leaves streams to HIP: the "
              "HIP that is loaded lacks hipThreadExchangeStreamCaptureMode\n")
        << "and says so once";
  }
}

TEST(PreloadRuntimeTest, StandsAsideFromTwoHips) {
  const std::string plugin = InFolder("libhip_plugin.so");
  const std::string other = InFolder("libother_hip_plugin.so");
  for (const Strings& order :
       {Strings{"opens_library", plugin, other, plugin},
        Strings{"opens_library", "+" + plugin, other, plugin},
        Strings{"opens_library", PathOfHip(), other, plugin}}) {
    const Program program(order);
    const Outcome without = program.Run();
    const Outcome with = Program(program).Preload(kPool).Run();
    EXPECT_EQ(with.out, without.out);
    EXPECT_EQ(without.status, 0);
    EXPECT_EQ(with.status, 0) << with.err;
  }
}

TEST(PreloadRuntimeTest, OtherPreloadedLibrariesSeeTheCallsThatReachThem) {
  const Program program({"hip_calls", "Cycle"});
  const std::string tool = InFolder("liblooks_next.so");
  const Outcome alone = Program(program).Preload(tool).Run();
  const Outcome before = Program(program).Preload(tool).Preload(kPool).Run();
  const Outcome behind = Program(program).Preload(kPool).Preload(tool).Run();
  EXPECT_THAT(alone.err, HasSubstr("looks_next: 2240\n"));
  EXPECT_EQ(before.err, alone.err);
  EXPECT_THAT(behind.err, HasSubstr("looks_next: "));
  EXPECT_NE(behind.err, alone.err) << "it sees only what reaches HIP";
  for (const Outcome& outcome : {before, behind}) {
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.out, alone.out);
    if (alone.driver_calls >= 0) {
      EXPECT_LT(outcome.driver_calls, alone.driver_calls);
    }
  }
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
  EXPECT_THAT(Summary(program),
              HasSubstr("hits 608, misses 1632, parked 640 (32 now)"));
}

TEST(PreloadRuntimeTest, TheSummaryIsOneLineAndOfOneProcess) {
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

}  // namespace
