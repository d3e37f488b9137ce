// SPDX-License-Identifier: Apache-2.0
//
// Whatever defines HIP's names, however a program finds them, and in whichever
// order libraries are opened: each call goes where it would go without the
// preloaded library, and the pool answers for one HIP alone.
#include "gmock/gmock.h"
#include "preload/preload_testing.h"

namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kSecondHip[] =
    "hip-stream-pool: disabled: a second HIP was loaded\n";

Program Open(Strings libraries) {
  libraries.insert(libraries.begin(), "opens_library");
  return Program(libraries);
}

// What it prints and how it ends is the same with and without, but for a line
// of the pool's.
Outcome ExpectSameAnswers(const Program& program) {
  const Outcome without = program.Run();
  const Outcome with = Program(program).Preload(kPool).Run();
  EXPECT_EQ(without.status, 0) << without.err;
  EXPECT_EQ(with.status, without.status) << with.err;
  EXPECT_EQ(with.out, without.out);
  return with;
}

TEST(PreloadLoaderTest, AProgramThatOpensHipGetsThePool) {
  for (const char* scope : {"", "+"}) {
    const Program program = Open({scope + PathOfHip()});
    const Comparison opened(program);
    opened.ExpectEndedWith(0);
    opened.ExpectFewerDriverCalls();
    const std::string summary = Summary(program);
    EXPECT_THAT(summary, HasSubstr("hits 38, misses 2,"));
    EXPECT_THAT(summary, HasSubstr("destroy: HIP not measured"));
  }
}

TEST(PreloadLoaderTest, APluginThatLinksHipGetsThePool) {
  for (const char* scope : {"", "+"}) {
    const Program program = Open({scope + InFolder("libhip_plugin.so")});
    const Comparison opened(program);
    opened.ExpectEndedWith(0);
    opened.ExpectFewerDriverCalls();
    // FindStreams has two more at most.
    EXPECT_THAT(Summary(program), AnyOf(HasSubstr("hits 39, misses 2,"),
                                        HasSubstr("hits 40, misses 2,")));
  }
}

TEST(PreloadLoaderTest, WithoutHipThereIsNothingToSee) {
  const Program program = Open({});
  Comparison(program).ExpectEndedWith(0);
  EXPECT_THAT(Summary(program), IsEmpty());
}

TEST(PreloadLoaderTest, IsDisabledByAHipThatLacksSomething) {
  for (const char* scope : {"", "+"}) {
    const Outcome with =
        ExpectSameAnswers(Open({scope + InFolder("libother_hip_plugin.so")}));
    EXPECT_EQ(with.err,
              "hip-stream-pool: disabled: the loaded HIP lacks "
              "hipThreadExchangeStreamCaptureMode\n")
        << "and says so once";
  }
}

// A library that has streams of its own under HIP's names, one of its group,
// and plugins of two HIPs. One HIP takes another's stream for the end.
TEST(PreloadLoaderTest, InEveryOrderACallGoesWhereItGoesWithoutThePool) {
  const Strings libraries = {
      InFolder("libneeds_defines_hip.so"), InFolder("libdefines_hip.so"),
      InFolder("libsmall_hip_plugin.so"), InFolder("libother_hip_plugin.so")};
  for (const std::string& a : libraries) {
    for (const std::string& b : libraries) {
      for (const std::string& c : libraries) {
        if (a == b || b == c || a == c) continue;
        for (int scopes = 0; scopes < 8; ++scopes) {
          const auto scope = [&](int i) { return scopes >> i & 1 ? "+" : ""; };
          const Strings order = {scope(0) + a, scope(1) + b, scope(2) + c, a};
          SCOPED_TRACE(::testing::PrintToString(order));
          Strings opened_first = order;
          opened_first.insert(opened_first.begin(), "first");
          for (const Strings& arguments : {order, opened_first}) {
            const Outcome with = ExpectSameAnswers(Open(arguments));
            EXPECT_THAT(with.err,
                        AnyOf(IsEmpty(), kSecondHip,
                              HasSubstr("disabled: the loaded HIP lacks")));
          }
        }
      }
    }
  }
}

TEST(PreloadLoaderTest, SwitchedOffItChangesNothingOfThat) {
  const std::string own = InFolder("libneeds_defines_hip.so");
  const std::string hip = InFolder("libsmall_hip_plugin.so");
  for (const Strings& order :
       {Strings{own}, Strings{hip}, Strings{own, hip, own},
        Strings{hip, own, hip}, Strings{"+" + own, hip, own},
        Strings{"+" + hip, "+" + own, hip}, Strings{PathOfSmallHip(), own}}) {
    Comparison(Program(Open(order)).Set("HIP_STREAM_POOL_PRELOAD", "off"))
        .ExpectEndedWith(0);
  }
}

TEST(PreloadLoaderTest, ALibraryWithHipsNamesIsNoHip) {
  const Program program = Open({InFolder("libneeds_defines_hip.so")});
  EXPECT_THAT(ExpectSameAnswers(program).err, IsEmpty());
  EXPECT_THAT(Summary(program), IsEmpty());
}

// The next one may have the place of the one before.
TEST(PreloadLoaderTest, WhatWasUnloadedIsNotCalled) {
  const std::string own = "~" + InFolder("libdefines_hip.so");
  const std::string hip = "~" + InFolder("libsmall_hip_plugin.so");
  for (const Strings& order :
       {Strings{own, own, hip, own, hip}, Strings{hip, hip, own, hip},
        Strings{"+" + own.substr(1), hip, own, hip}}) {
    EXPECT_THAT(ExpectSameAnswers(Open(order)).err, IsEmpty());
  }
}

TEST(PreloadLoaderTest, TheHipThatHasParkedStreamsStaysLoaded) {
  const std::string hip = "~" + InFolder("libsmall_hip_plugin.so");
  const Outcome with =
      ExpectSameAnswers(Open({hip, hip, "~" + PathOfSmallHip()}));
  EXPECT_THAT(with.err, IsEmpty());
  EXPECT_THAT(Summary(Open({hip, hip})), HasSubstr("misses 2, "));
}

TEST(PreloadLoaderTest, AProgramMayWrapHipsFunctions) {
  for (const char* way : {"handle", "next"}) {
    SCOPED_TRACE(way);
    const Program program({"wraps_hip", way});
    Comparison(program).ExpectEndedWith(0);
    EXPECT_THAT(Summary(program), Not(HasSubstr("hits 0")));
    Comparison(Program(program).Set("HIP_STREAM_POOL_PRELOAD", "off"))
        .ExpectEndedWith(0);
  }
}

TEST(PreloadLoaderTest, AProgramMayHaveVariablesOfHipsNames) {
  const Program program({"hip_pointers"});
  Comparison(program).ExpectEndedWith(0);
  EXPECT_THAT(Summary(program), HasSubstr("hits 57, misses 3,"));
}

TEST(PreloadLoaderTest, OtherPreloadedLibrariesSeeEveryCall) {
  const std::string tool = InFolder("liblooks_next.so");
  for (const Program& program : {Program({"hip_calls", "Cycle"}),
                                 Open({"+" + InFolder("libhip_plugin.so")})}) {
    const Outcome alone = Program(program).Preload(tool).Run();
    EXPECT_THAT(alone.err, Not(HasSubstr("looks_next: 0\n")));
    for (const auto& [first, second] : {std::pair(tool, std::string(kPool)),
                                        std::pair(std::string(kPool), tool)}) {
      SCOPED_TRACE(first);
      const Outcome both =
          Program(program).Preload(first).Preload(second).Run();
      EXPECT_EQ(both.status, 0);
      EXPECT_EQ(both.out, alone.out);
      EXPECT_EQ(both.err, alone.err);
    }
  }
}

TEST(PreloadLoaderTest, WhatAnotherPreloadedLibraryPassesOnGetsThePool) {
  const std::string tool = InFolder("liblooks_next.so");
  const Program program({"hip_calls", "Cycle"});
  EXPECT_THAT(Summary(Program(program).Preload(tool)),
              HasSubstr("hits 2128, misses 112,"));
  const Outcome behind = Program(program)
                             .Preload(kPool)
                             .Preload(tool)
                             .Set("HIP_STREAM_POOL_SUMMARY", "1")
                             .Run();
  EXPECT_THAT(behind.err, HasSubstr("hits 2128, misses 112,"));
}

// A thread that runs constructors has the loader's lock.
TEST(PreloadLoaderTest, AConstructorMayWaitForAnotherThreadsCall) {
  const std::string plugin = InFolder("libconstructor_plugin.so");
  for (const std::string& hip : {std::string("-"), PathOfHip()}) {
    for (const char* job : {"masked", "create", "reset", "null", "flags",
                            "CREATE", "RESET", "NULL", "FLAGS"}) {
      // From 5.5 on, a thread's first call makes all that HIP keeps for it, and
      // takes the loader's lock for that, with the pool or without.
      if (HIP_VERSION >= 50500000 && *job < 'a') continue;
      for (const char* on : {"on", "off"}) {
        SCOPED_TRACE(hip + " " + job + " " + on);
        Comparison(Program({"constructor_waits", hip, job, plugin})
                       .Set("HIP_STREAM_POOL_PRELOAD", on))
            .ExpectEndedWith(0);
      }
    }
  }
}

TEST(PreloadLoaderTest, TwoHipsAreNamedOnceWheneverTheSecondCame) {
  const std::string hip = InFolder("libsmall_hip_plugin.so");
  const std::string other = InFolder("libother_hip_plugin.so");
  const std::string path = PathOfSmallHip();
  for (const Strings& order :
       {Strings{"first", hip, other, hip},
        Strings{"first", "+" + hip, "+" + other},
        Strings{"first", "+" + hip, other}, Strings{"first", hip, "+" + other},
        Strings{"first", path, other}, Strings{"first", other, path},
        Strings{"first", "+" + path, "+" + other}}) {
    SCOPED_TRACE(::testing::PrintToString(order));
    EXPECT_EQ(ExpectSameAnswers(Open(order)).err, kSecondHip);
    EXPECT_THAT(Summary(Open(order)),
                HasSubstr("hits 0, misses 0: disabled: a second HIP was "
                          "loaded\n"));
  }
  for (const Strings& order :
       {Strings{hip, other, hip}, Strings{"+" + hip, "+" + other, hip},
        Strings{"+" + hip, other}, Strings{hip, "+" + other, hip},
        Strings{path, other, path}, Strings{path, path, other}}) {
    SCOPED_TRACE(::testing::PrintToString(order));
    EXPECT_EQ(ExpectSameAnswers(Open(order)).err, kSecondHip);
    EXPECT_THAT(Summary(Open(order)),
                HasSubstr("; disabled: a second HIP was loaded\n"));
  }
}

TEST(PreloadLoaderTest, BesideASecondHipNoStreamIsParkedOrTaken) {
  for (const std::string& second :
       {PathOfHip(), InFolder("small_hip_99/libamdhip64.so.99")}) {
    const Program program({"second_hip", PathOfSmallHip(), second});
    EXPECT_EQ(ExpectSameAnswers(program).err, kSecondHip);
    EXPECT_THAT(Summary(program),
                HasSubstr("hits 0, misses 2, parked 1 (1 now)"));
  }
}

TEST(PreloadLoaderTest, ACallThatFindsHipUnableToStartSeesItsFirstAnswer) {
  for (const std::string& library :
       {PathOfSmallHip(), InFolder("libsmall_hip_plugin.so")}) {
    Comparison(Open({library}).Set("SMALL_HIP_CANNOT_START", "1"))
        .ExpectEndedWith(0);
  }
}

TEST(PreloadLoaderTest, StreamsDestroyedUnseenAreGone) {
  Comparison({"destroys_unseen"}).ExpectEndedWith(0);
}

}  // namespace
