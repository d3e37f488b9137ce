// SPDX-License-Identifier: Apache-2.0
//
// StreamContext over the scripted HIP.
#include "hip_stream_pool/stream_context.h"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "pool_test.h"

namespace hip_stream_pool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

static_assert(!std::is_copy_constructible_v<ExternalStreamScope>);
static_assert(std::is_nothrow_move_constructible_v<ExternalStreamScope>);

// A library handle that keeps a stream, as rocBLAS has.
struct FakeLibrary {
  hipStream_t stream = reinterpret_cast<hipStream_t>(-1);
  int calls = 0;
  hipStream_t refuses = reinterpret_cast<hipStream_t>(-1);
  bool throws = false;

  absl::Status SetStream(hipStream_t to) {
    ++calls;
    if (to == refuses) {
#ifdef __cpp_exceptions
      if (throws) throw std::runtime_error("refused");
#endif
      return absl::UnavailableError("not that one");
    }
    stream = to;
    return absl::OkStatus();
  }
};

class StreamContextTest : public PoolTest {
 protected:
  StreamContextTest() {
    absl::StatusOr<std::unique_ptr<StreamContext>> made =
        StreamContext::Create({0, 0, 0});
    EXPECT_TRUE(made.ok()) << made.status();
    context = *std::move(made);
    internal = context->stream();
    external = hip.CreateElsewhere(0, 0, 0);
    Add("a", a);
    Add("b", b);
    a.calls = b.calls = 0;
    hip.ClearCalls();
  }

  void Add(const std::string& name, FakeLibrary& library) {
    EXPECT_TRUE(context
                    ->AddLibrary(name,
                                 [&library](hipStream_t stream) {
                                   return library.SetStream(stream);
                                 })
                    .ok());
  }

  ExternalStreamScope Use(hipStream_t stream) {
    absl::StatusOr<ExternalStreamScope> scope =
        context->UseExternalStream(stream);
    EXPECT_TRUE(scope.ok()) << scope.status();
    return *std::move(scope);
  }

  void ExpectAllOn(hipStream_t stream) {
    EXPECT_EQ(context->stream(), stream);
    EXPECT_EQ(a.stream, stream);
    EXPECT_EQ(b.stream, stream);
  }

  absl::Status Nothing(hipStream_t) { return absl::OkStatus(); }

  FakeLibrary a;
  FakeLibrary b;
  std::unique_ptr<StreamContext> context;
  hipStream_t internal;
  hipStream_t external;
};

TEST_F(StreamContextTest, StartsOnItsOwnStreamAndSetsLibrariesToIt) {
  EXPECT_NE(internal, nullptr);
  EXPECT_FALSE(context->has_external_stream());
  ExpectAllOn(internal);
}

TEST_F(StreamContextTest, AnExternalStreamTakesEverythingAndGivesItBack) {
  {
    ExternalStreamScope scope = Use(external);
    EXPECT_TRUE(context->has_external_stream());
    ExpectAllOn(external);
  }
  EXPECT_FALSE(context->has_external_stream());
  ExpectAllOn(internal);
  EXPECT_TRUE(hip.IsLive(external));
  EXPECT_EQ(Stats().parked_now, 0);
}

TEST_F(StreamContextTest, NullIsAStreamAndNotUnbound) {
  {
    ExternalStreamScope scope = Use(nullptr);
    EXPECT_TRUE(context->has_external_stream());
    ExpectAllOn(nullptr);
  }
  ExpectAllOn(internal);
}

TEST_F(StreamContextTest, BindingTheBoundStreamAgainCallsNoLibrary) {
  ExternalStreamScope outer = Use(external);
  EXPECT_EQ(a.calls, 1);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(
        context->RunAsync(external, [&](hipStream_t s) { return Nothing(s); })
            .ok());
  }
  EXPECT_EQ(a.calls, 1);
  EXPECT_EQ(b.calls, 1);
  ASSERT_TRUE(outer.Restore().ok());
  EXPECT_EQ(a.calls, 2);
}

TEST_F(StreamContextTest, ScopesNest) {
  hipStream_t second = hip.CreateElsewhere(0, 1, 0);
  ExternalStreamScope outer = Use(external);
  {
    ExternalStreamScope inner = Use(second);
    ExpectAllOn(second);
    {
      ExternalStreamScope same = Use(external);
      ExpectAllOn(external);
    }
    ExpectAllOn(second);
  }
  ExpectAllOn(external);
}

TEST_F(StreamContextTest, AnOuterScopeThatEndsFirstLeavesTheInnerOneBound) {
  ExternalStreamScope outer = Use(external);
  ExternalStreamScope inner = Use(nullptr);
  ASSERT_TRUE(outer.Restore().ok());
  ExpectAllOn(nullptr);
  ASSERT_TRUE(inner.Restore().ok());
  ExpectAllOn(internal);
}

TEST_F(StreamContextTest, RestoreWorksOnceAndMovesWithTheScope) {
  std::optional<ExternalStreamScope> moved;
  {
    ExternalStreamScope scope = Use(external);
    moved = std::move(scope);
    EXPECT_TRUE(scope.Restore().ok());  // NOLINT(bugprone-use-after-move)
  }
  ExpectAllOn(external);
  EXPECT_TRUE(moved->Restore().ok());
  ExpectAllOn(internal);
  EXPECT_TRUE(moved->Restore().ok());
  ExternalStreamScope other = Use(nullptr);
  *moved = Use(external);
  *moved = std::move(other);  // ends the binding that it had
  ExpectAllOn(nullptr);
}

TEST_F(StreamContextTest, ALibraryThatRefusesTakesTheOthersBack) {
  b.refuses = external;
  absl::Status status = context->UseExternalStream(external).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "b: not that one");
  EXPECT_FALSE(context->has_external_stream());
  ExpectAllOn(internal);
  bool ran = false;
  EXPECT_FALSE(context
                   ->RunAsync(external,
                              [&](hipStream_t) {
                                ran = true;
                                return absl::OkStatus();
                              })
                   .ok());
  EXPECT_FALSE(ran);
}

#ifdef __cpp_exceptions
TEST_F(StreamContextTest, ALibraryThatThrowsTakesTheOthersBack) {
  b.refuses = external;
  b.throws = true;
  EXPECT_THROW((void)context->UseExternalStream(external), std::runtime_error);
  EXPECT_FALSE(context->has_external_stream());
  ExpectAllOn(internal);
}
#endif

TEST_F(StreamContextTest, AFailedRestoreIsReportedAndTheNextBindSetsAll) {
  ExternalStreamScope scope = Use(external);
  a.refuses = internal;
  absl::Status restored = scope.Restore();
  EXPECT_EQ(restored.message(), "a: not that one");
  EXPECT_FALSE(context->has_external_stream());
  EXPECT_EQ(a.stream, external);
  EXPECT_EQ(b.stream, internal) << "the others go back all the same";
  a.refuses = reinterpret_cast<hipStream_t>(-1);
  a.calls = b.calls = 0;
  {
    ExternalStreamScope again = Use(external);
    EXPECT_EQ(a.calls, 1);
    EXPECT_EQ(b.calls, 1);
  }
  ExpectAllOn(internal);
}

TEST_F(StreamContextTest, ALibraryAddedInAScopeFollowsToo) {
  FakeLibrary late;
  {
    ExternalStreamScope scope = Use(external);
    Add("late", late);
    EXPECT_EQ(late.stream, external);
  }
  EXPECT_EQ(late.stream, internal);
  context.reset();  // before `late` goes
}

TEST_F(StreamContextTest, ALibraryThatRefusesAtFirstIsNotAdded) {
  FakeLibrary refusing;
  refusing.refuses = internal;
  absl::Status added = context->AddLibrary(
      "refusing", [&](hipStream_t s) { return refusing.SetStream(s); });
  EXPECT_EQ(added.message(), "refusing: not that one");
  EXPECT_THAT(context->AddLibrary("none", nullptr), IsInvalidArgument());
  Use(external).Restore().IgnoreError();
  EXPECT_EQ(refusing.calls, 1);
}

TEST_F(StreamContextTest, RunAsyncGivesBackAfterAnErrorAndAnException) {
  const auto fails = [&](hipStream_t stream) {
    ExpectAllOn(stream);
    EXPECT_EQ(stream, external);
    return absl::AbortedError("work");
  };
  EXPECT_EQ(context->RunAsync(external, fails).code(),
            absl::StatusCode::kAborted);
  ExpectAllOn(internal);
#ifdef __cpp_exceptions
  const auto throws = [](hipStream_t) -> absl::Status {
    throw std::runtime_error("work");
  };
  EXPECT_THROW((void)context->RunAsync(external, throws), std::runtime_error);
  EXPECT_FALSE(context->has_external_stream());
  ExpectAllOn(internal);
  EXPECT_THROW((void)context->Run(throws), std::runtime_error);
  ExpectAllOn(internal);
#endif
}

TEST_F(StreamContextTest, RunUsesTheInternalStreamAndWaits) {
  ExternalStreamScope scope = Use(external);
  ASSERT_TRUE(context
                  ->Run([&](hipStream_t stream) {
                    EXPECT_EQ(stream, internal);
                    EXPECT_FALSE(context->has_external_stream());
                    ExpectAllOn(internal);
                    hip.SetBusy(internal);
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(hip.Count("hipStreamSynchronize"), 1);
  ExpectAllOn(external);
}

TEST_F(StreamContextTest, RunAsyncMakesOnlyTheHipCallsItNeeds) {
  scripted_hip::SetCurrentDevice(0);
  hip.ClearCalls();
  std::string during;
  ASSERT_TRUE(context
                  ->RunAsync(external,
                             [&](hipStream_t) {
                               during = hip.CallNames();
                               return absl::OkStatus();
                             })
                  .ok());
  EXPECT_EQ(during, scripted_hip::Version() >= scripted_hip::HipVersion::k57
                        ? "GetDevice StreamGetDevice"
                        : "GetDevice StreamGetPriority");
  EXPECT_EQ(hip.CallNames(), during);
  scripted_hip::SetCurrentDevice(kCallersDevice);
}

TEST_F(StreamContextTest, TheContextsDeviceIsCurrentForTheWorkAlone) {
  const auto work = [&](hipStream_t) {
    EXPECT_EQ(scripted_hip::CurrentDevice(), 0);
    EXPECT_EQ(scripted_hip::CurrentMode(), hipStreamCaptureModeGlobal);
    return absl::OkStatus();
  };
  EXPECT_TRUE(context->RunAsync(external, work).ok());
  EXPECT_EQ(scripted_hip::CurrentDevice(), kCallersDevice);
  EXPECT_TRUE(context->Run(work).ok());
  EXPECT_EQ(scripted_hip::CurrentDevice(), kCallersDevice);
}

TEST_F(StreamContextTest, AnExternalStreamThatDiedIsRefused) {
  hip.DestroyElsewhere(external);
  EXPECT_THAT(context->UseExternalStream(external).status(),
              IsFailedPrecondition());
  EXPECT_EQ(scripted_hip::LastError(), hipSuccess);
  ExpectAllOn(internal);
  EXPECT_EQ(a.calls, 0);
}

TEST_F(StreamContextTest, AnExternalStreamOfAnotherDeviceIsRefused) {
  if (scripted_hip::Version() == scripted_hip::HipVersion::k52) {
    GTEST_SKIP() << "HIP does not tell the device";
  }
  hipStream_t elsewhere = hip.CreateElsewhere(1, 0, 0);
  EXPECT_THAT(context->UseExternalStream(elsewhere).status(),
              IsInvalidArgument());
  EXPECT_EQ(a.calls, 0);
}

TEST_F(StreamContextTest, OrderingUsesOneEventAndBindsNothing) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(context->WaitFor(external).ok());
    EXPECT_TRUE(context->FinishOn(external).ok());
    EXPECT_TRUE(context->WaitFor(nullptr).ok());
  }
  EXPECT_EQ(hip.Count("hipEventRecord"), 9);
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 9);
  EXPECT_EQ(hip.Count("hipEventCreateWithFlags"), 1);
  EXPECT_EQ(a.calls, 0);
  ExpectAllOn(internal);
}

TEST_F(StreamContextTest, OrderingWithACaptureLeavesItAnEventOfItsOwn) {
  hip.SetCaptureStatus(external, hipStreamCaptureStatusActive);
  EXPECT_TRUE(context->WaitFor(external).ok());
  EXPECT_EQ(hip.Count("hipEventCreateWithFlags"), 1);
  context.reset();
  EXPECT_TRUE(cache.Trim(0).ok());
  EXPECT_EQ(hip.LiveEvents(), 1) << "HIP writes to it when the capture ends";
}

TEST_F(StreamContextTest, ACaptureFinishesOnlyOnWhatHasJoinedIt) {
  hip.SetCaptureStatus(external, hipStreamCaptureStatusActive);
  EXPECT_THAT(context->FinishOn(external), IsFailedPrecondition());
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 0);
  EXPECT_TRUE(context->WaitFor(external).ok());
  hip.SetCaptureStatus(internal, hipStreamCaptureStatusActive);  // by that
  EXPECT_TRUE(context->FinishOn(external).ok());
}

TEST_F(StreamContextTest, OrderingWithAStreamThatIsNoneIsRefused) {
  hip.DestroyElsewhere(external);
  EXPECT_THAT(context->WaitFor(external), IsFailedPrecondition());
  const auto legacy = reinterpret_cast<hipStream_t>(1);
  EXPECT_THAT(context->FinishOn(legacy), IsInvalidArgument());
  EXPECT_THAT(context->UseExternalStream(legacy).status(), IsInvalidArgument());
  EXPECT_EQ(hip.Count("hipEventRecord"), 0);
}

TEST_F(StreamContextTest, LibrariesAreSetWithTheContextsDeviceCurrent) {
  std::vector<int> devices;
  const auto note = [&](hipStream_t) {
    devices.push_back(scripted_hip::CurrentDevice());
    return absl::OkStatus();
  };
  ASSERT_TRUE(context->AddLibrary("noting", note).ok());
  Use(external).Restore().IgnoreError();
  EXPECT_TRUE(
      context->RunAsync(external, [&](hipStream_t s) { return Nothing(s); })
          .ok());
  context.reset();
  EXPECT_THAT(devices, ::testing::ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST_F(StreamContextTest, OrderingAStreamWithItselfMakesNoHipCall) {
  EXPECT_TRUE(context->WaitFor(internal).ok());
  EXPECT_TRUE(context->FinishOn(internal).ok());
  EXPECT_THAT(hip.Calls(), IsEmpty());
}

TEST_F(StreamContextTest, OrderingReportsWhatHipSays) {
  hip.Fail("hipEventRecord", hipErrorLaunchFailure);
  absl::Status status = context->WaitFor(external);
  EXPECT_THAT(status, IsInternal());
  EXPECT_THAT(std::string(status.message()), HasSubstr("hipEventRecord"));
  EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 0);
}

TEST_F(StreamContextTest, EndsWithNoLibraryOnAPooledStream) {
  hip.SetBusy(internal);
  context.reset();
  EXPECT_EQ(a.stream, nullptr);
  EXPECT_EQ(b.stream, nullptr);
  EXPECT_EQ(hip.LiveEvents(), 0);
  EXPECT_EQ(Stats().parked_now, 1);
  EXPECT_EQ(Create({0, 0, 0}), internal);
}

TEST_F(StreamContextTest, AContextThatGetsNoStreamIsNotCreated) {
  hip.Fail("hipStreamCreateWithPriority", hipErrorOutOfMemory, 0, 2);
  EXPECT_THAT(StreamContext::Create({0, 0, 0}).status(), IsResourceExhausted());
  EXPECT_THAT(StreamContext::Create({0, 9, 0}).status(), IsInvalidArgument());
}

TEST_F(StreamContextTest, AfterAResetNothingRunsAndNoLibraryGetsTheOldHandle) {
  ExternalStreamScope scope = Use(external);
  hip.ResetDevice(0);
  cache.Invalidate(0);
  hipStream_t callers = hip.CreateElsewhere(0, 0, 0);
  EXPECT_TRUE(scope.Restore().ok());
  EXPECT_EQ(a.stream, nullptr) << "the internal handle may be another's";
  EXPECT_EQ(b.stream, nullptr);
  const auto work = [](hipStream_t) -> absl::Status {
    ADD_FAILURE() << "the work ran";
    return absl::OkStatus();
  };
  EXPECT_THAT(context->Run(work), IsFailedPrecondition());
  EXPECT_THAT(context->RunAsync(callers, work), IsFailedPrecondition());
  EXPECT_THAT(context->UseExternalStream(callers).status(),
              IsFailedPrecondition());
  EXPECT_THAT(context->WaitFor(callers), IsFailedPrecondition());
  EXPECT_THAT(context->FinishOn(callers), IsFailedPrecondition());
  EXPECT_THAT(context->AddLibrary("c",
                                  [](hipStream_t) {
                                    ADD_FAILURE() << "the library was set";
                                    return absl::OkStatus();
                                  }),
              IsFailedPrecondition());
}

}  // namespace
}  // namespace hip_stream_pool
