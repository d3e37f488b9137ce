// SPDX-License-Identifier: Apache-2.0
//
// A program that knows nothing of the pool and has it beneath, by LD_PRELOAD,
// over a HIP that fails as the test says, of the version that
// SCRIPTED_HIP_VERSION names.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/hip_runtime_api.h"
#include "scripted_hip/scripted_hip.h"

namespace {

using scripted_hip::HipVersion;
using scripted_hip::LastError;
using scripted_hip::ScriptedHip;
using scripted_hip::Version;
using ::testing::IsEmpty;

class PreloadScriptedTest : public ::testing::Test {
 protected:
  static constexpr int kDevices = 4;

  PreloadScriptedTest() {
    hip.Reset(kDevices);
    for (int device = 0; device < kDevices; ++device) {
      EXPECT_EQ(hipSetDevice(device), hipSuccess);
      EXPECT_EQ(hipDeviceReset(), hipSuccess);  // the pool forgets
    }
    EXPECT_EQ(hipSetDevice(0), hipSuccess);
  }
  ~PreloadScriptedTest() override { EXPECT_THAT(hip.Faults(), IsEmpty()); }

  static hipStream_t Create() {
    hipStream_t stream = nullptr;
    EXPECT_EQ(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking),
              hipSuccess);
    return stream;
  }

  // Not knowing of the pool, a test can still see what reached HIP.
  bool IsParked(hipStream_t stream) {
    hip.ClearCalls();
    const bool reused = Create() == stream;
    return reused && hip.Count("hipStreamCreateWithPriority") == 0;
  }

  ScriptedHip& hip = ScriptedHip::Get();
};

TEST_F(PreloadScriptedTest, AStreamIsUsedAgain) {
  hipStream_t stream = Create();
  EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  EXPECT_TRUE(hip.IsLive(stream));
  EXPECT_TRUE(IsParked(stream));
}

TEST_F(PreloadScriptedTest, ASecondDestroyTouchesNoStream) {
  hipStream_t stream = Create();
  EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  EXPECT_EQ(hipStreamDestroy(stream), hipErrorContextIsDestroyed);
  EXPECT_EQ(LastError(), hipErrorContextIsDestroyed);
  EXPECT_TRUE(IsParked(stream));
}

TEST_F(PreloadScriptedTest, LastErrorIsWhatHipMakesOfASuccess) {
  for (int i = 0; i < 2; ++i) {
    scripted_hip::SetLastError(hipErrorInvalidDevice);
    hipStream_t stream = Create();
    const hipError_t expected =
        Version() == HipVersion::k72 ? hipErrorInvalidDevice : hipSuccess;
    EXPECT_EQ(LastError(), expected);
    scripted_hip::SetLastError(hipErrorInvalidDevice);
    EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
    EXPECT_EQ(LastError(), expected);
  }
}

TEST_F(PreloadScriptedTest, WhateverFailsForThePoolTheProgramHasItsStream) {
  for (const char* call :
       {"hipGetDevice", "hipGetDeviceCount",
        "hipThreadExchangeStreamCaptureMode", "hipDeviceGetStreamPriorityRange",
        "hipStreamQuery", "hipStreamGetId", "hipStreamGetDevice",
        "hipStreamIsCapturing", "hipStreamSynchronize", "hipStreamGetFlags",
        "hipStreamGetPriority", "hipStreamGetAttribute"}) {
    for (hipError_t error : {hipErrorUnknown, hipErrorOutOfMemory}) {
      for (int after = 0; after < 3; ++after) {
        SCOPED_TRACE(std::string(call) + " after " + std::to_string(after));
        hip.Fail(call, error, after);
        hipStream_t stream = Create();
        ASSERT_TRUE(hip.IsLive(stream));
        EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
        hip.FailNothing();
      }
    }
  }
}

TEST_F(PreloadScriptedTest, WhatHipSaysOfACreationIsTheAnswer) {
  hipStream_t stream = nullptr;
  for (hipError_t error : {hipErrorOutOfMemory, hipErrorUnknown}) {
    hip.Fail("hipStreamCreateWithPriority", error, 0, ScriptedHip::kForever);
    EXPECT_EQ(hipStreamCreate(&stream), error);
    EXPECT_EQ(LastError(), error);
    hip.FailNothing();
  }
}

TEST_F(PreloadScriptedTest, WhatHipSaysOfADestructionIsTheAnswer) {
  for (hipError_t answer : {hipErrorLaunchFailure, hipSuccess}) {
    hipStream_t stream = Create();
    hip.Fail("hipStreamQuery", hipErrorLaunchFailure);  // the stream's work
    hip.Fail("hipStreamDestroy", answer);
    EXPECT_EQ(hipStreamDestroy(stream), answer);
    EXPECT_EQ(LastError(), answer);
    EXPECT_EQ(hip.Count("hipStreamDestroy"), 1);
    EXPECT_FALSE(IsParked(stream));
    hip.FailNothing();
    hip.ClearCalls();
  }
}

TEST_F(PreloadScriptedTest, ACapturingStreamIsHipsToDestroy) {
  hipStream_t stream = Create();
  hip.SetCaptureStatus(stream, hipStreamCaptureStatusActive);
  EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  EXPECT_FALSE(hip.IsLive(stream));
}

TEST_F(PreloadScriptedTest, AStreamThatThePoolHasNotMadeIsHipsToDestroy) {
  hipStream_t masked = hip.CreateElsewhere(0, 0, 0);
  EXPECT_EQ(hipStreamDestroy(masked), hipSuccess);
  EXPECT_FALSE(hip.IsLive(masked));
}

TEST_F(PreloadScriptedTest, AfterAResetAnOldStreamIsDeadAndNoNewOneIsTaken) {
  hip.ReuseHandles();
  hipStream_t old = Create();
  EXPECT_EQ(hipDeviceReset(), hipSuccess);
  hipStream_t next = Create();
  EXPECT_NE(next, old) << "its value is held back";
  EXPECT_EQ(hipStreamDestroy(old), hipErrorContextIsDestroyed);
  EXPECT_TRUE(hip.IsLive(next));
  EXPECT_EQ(hipStreamDestroy(next), hipSuccess);
}

TEST_F(PreloadScriptedTest, NoDeadStreamIsHandedToHip) {
  hipStream_t of_reset = Create();
  EXPECT_EQ(hipDeviceReset(), hipSuccess);
  hipStream_t elsewhere = Create();
  hip.DestroyElsewhere(elsewhere);
  for (hipStream_t stream : {of_reset, elsewhere}) {
    EXPECT_EQ(hipStreamDestroy(stream), hipErrorContextIsDestroyed);
    EXPECT_EQ(LastError(), hipErrorContextIsDestroyed);
  }
}

TEST_F(PreloadScriptedTest, AfterAResetAnotherStreamsHandleIsNotLeased) {
  hip.ReuseHandles();
  hipStream_t parked = Create();
  EXPECT_EQ(hipStreamDestroy(parked), hipSuccess);
  EXPECT_EQ(hipDeviceReset(), hipSuccess);
  hipStream_t masked = hip.CreateElsewhere(0, hipStreamNonBlocking, 0);
  ASSERT_EQ(masked, parked);
  EXPECT_NE(Create(), masked);
}

TEST_F(PreloadScriptedTest, WhatIsParkedDuringAResetIsForgottenToo) {
  hip.ReuseHandles();
  hipStream_t parked = nullptr;
  hip.During("hipDeviceReset", [&] {
    parked = Create();
    EXPECT_EQ(hipStreamDestroy(parked), hipSuccess);
  });
  EXPECT_EQ(hipDeviceReset(), hipSuccess);
  hip.During("hipDeviceReset", nullptr);
  hipStream_t masked = hip.CreateElsewhere(0, hipStreamNonBlocking, 0);
  ASSERT_EQ(masked, parked);
  EXPECT_NE(Create(), masked);
}

TEST_F(PreloadScriptedTest, AResetThatFailsForgetsNothing) {
  hipStream_t stream = Create();
  EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  hip.Fail("hipDeviceReset", hipErrorUnknown);
  EXPECT_EQ(hipDeviceReset(), hipErrorUnknown);
  EXPECT_TRUE(IsParked(stream));
}

TEST_F(PreloadScriptedTest, AResetDuringADestroyTakesNobodysStream) {
  hip.ReuseHandles();
  hipStream_t stream = Create();
  hipStream_t masked = nullptr;
  hip.During("hipStreamGetPriority", [&] {
    hip.During("hipStreamGetPriority", nullptr);
    EXPECT_EQ(hipDeviceReset(), hipSuccess);
    masked = hip.CreateElsewhere(0, hipStreamNonBlocking, 0);
  });
  hip.Fail("hipStreamGetPriority", hipErrorUnknown);
  EXPECT_EQ(hipStreamDestroy(stream), hipErrorContextIsDestroyed);
  ASSERT_EQ(masked, stream);
  EXPECT_TRUE(hip.IsLive(masked));
}

TEST_F(PreloadScriptedTest, AForkedChildsDestroyGoesStraightToHip) {
  hipStream_t stream = Create();
  const pid_t child = fork();
  if (child == 0) {
    hip.ClearCalls();
    (void)hipStreamDestroy(stream);
    _exit(hip.CallNames() == "StreamDestroy" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(PreloadScriptedTest, TheNextUserFindsNoAttributeOfTheLast) {
  union {
    int policy;
    char size[64];
  } value = {};
  constexpr int kSynchronizationPolicy = 3;
  constexpr int kAuto = 1;
  value.policy = kAuto + 1;
  using Set = hipError_t(hipStream_t, int attribute, const void* value);
  auto* set =
      reinterpret_cast<Set*>(dlsym(RTLD_DEFAULT, "hipStreamSetAttribute"));
  ASSERT_EQ(set != nullptr, Version() == HipVersion::k72);
  hipStream_t stream = Create();
  if (set != nullptr) {
    ASSERT_EQ(set(stream, kSynchronizationPolicy, &value), hipSuccess);
  }
  EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  EXPECT_TRUE(IsParked(stream));
  EXPECT_EQ(hip.Look(stream).sync_policy, kAuto);
}

TEST_F(PreloadScriptedTest, AStreamDestroyedElsewhereIsKnownByItsIdentity) {
  if (Version() < HipVersion::k72) GTEST_SKIP() << "HIP has no identities";
  hip.ReuseHandles();
  hipStream_t stream = Create();
  EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  hip.DestroyElsewhere(stream);
  EXPECT_EQ(hip.CreateElsewhere(0, hipStreamNonBlocking, 0), stream);
  EXPECT_NE(Create(), stream);
}

}  // namespace
