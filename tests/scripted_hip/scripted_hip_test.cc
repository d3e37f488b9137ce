// SPDX-License-Identifier: Apache-2.0
//
// What the scripted HIP notices by itself.
#include "scripted_hip/scripted_hip.h"

#include <mutex>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace scripted_hip {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ScriptedHipTest : public ::testing::Test {
 protected:
  ScriptedHipTest() { hip.Reset(); }
  ~ScriptedHipTest() override {
    hip.SetLockProbe(nullptr);
    hip.Reset();
  }
  ScriptedHip& hip = ScriptedHip::Get();
};

TEST_F(ScriptedHipTest, ACallWithALockHeldIsAFault) {
  std::mutex mutex;
  hip.SetLockProbe([&] { std::lock_guard<std::mutex> lock(mutex); });
  int device = 0;
  ASSERT_EQ(hipGetDevice(&device), hipSuccess);
  EXPECT_THAT(hip.Faults(), IsEmpty());
  {
    std::lock_guard<std::mutex> lock(mutex);
    ASSERT_EQ(hipGetDevice(&device), hipSuccess);
  }
  hip.SetLockProbe(nullptr);  // it uses the mutex
  EXPECT_THAT(hip.Faults(),
              ElementsAre("hipGetDevice: called with a lock held"));
}

TEST_F(ScriptedHipTest, ACallOnTheWrongDeviceIsAFault) {
  hipStream_t stream = hip.CreateElsewhere(1, 0, 0);
  EXPECT_EQ(hipStreamQuery(stream), hipSuccess) << "of any device";
  EXPECT_EQ(hipMemcpyAsync(nullptr, nullptr, 0, hipMemcpyHostToDevice, stream),
            hipSuccess);
  EXPECT_THAT(
      hip.Faults(),
      ElementsAre("hipMemcpyAsync: called with the wrong device current"));
}

TEST_F(ScriptedHipTest, WhatHipSevenDoesNotCheckIsAFault) {
  hipStream_t stream = hip.CreateElsewhere(0, 0, 0);
  hip.DestroyElsewhere(stream);
  EXPECT_EQ(hipStreamQuery(stream), hipErrorContextIsDestroyed);
  if (Version() < HipVersion::k72) {
    EXPECT_THAT(hip.Faults(), IsEmpty());
  } else {
    EXPECT_THAT(hip.Faults(), ElementsAre("hipStreamQuery: undefined behavior: "
                                          "the stream does not exist"));
  }
}

}  // namespace
}  // namespace scripted_hip
