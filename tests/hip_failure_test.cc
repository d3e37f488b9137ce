// SPDX-License-Identifier: Apache-2.0
//
// Every HIP call that the library makes fails in turn, in every operation, with
// each kind of error, once and for ever after, on an old and on a new HIP.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hip_stream_pool/rocm_stream.h"
#include "hip_stream_pool/sequencing_event.h"
#include "hip_stream_pool/stream_context.h"
#include "hip_stream_pool/tracked_buffer.h"
#include "pool_test.h"

namespace hip_stream_pool {
namespace {

using scripted_hip::Call;
using scripted_hip::ScriptedHip;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr hipError_t kErrors[] = {
    hipErrorOutOfMemory,   hipErrorInvalidDevice,
    hipErrorInvalidHandle, hipErrorContextIsDestroyed,
    hipErrorLaunchFailure, hipErrorStreamCaptureUnsupported,
    hipErrorUnknown,
};

class HipFailureTest : public PoolTest {
 protected:
  HipFailureTest() {
    // What is asked only once in a process is pool_start_test's.
    for (int device = 0; device < kDevices; ++device) Parked({device, 0, 0});
  }

  struct Operation {
    std::string name;
    std::function<void()> prepare;
    std::function<absl::Status()> run;
  };

  // What an operation has before and after, besides the pool.
  hipStream_t stream_ = nullptr;
  std::optional<RocmStream> owner_;
  std::optional<RocmStream> other_;
  std::unique_ptr<StreamContext> context_;
  hipEvent_t event_ = nullptr;
  std::shared_ptr<SequencingEvent> sequencing_;
  std::optional<TrackedBuffer> from_;
  std::optional<TrackedBuffer> to_;
  char memory_[16] = {};

  std::vector<Operation> Operations() {
    const auto nothing = [] {};
    const auto leased = [this] { stream_ = Create({}); };
    const auto destroy = [this] {
      return DestroyStream(0, std::exchange(stream_, nullptr));
    };
    const auto create = [this] {
      absl::StatusOr<hipStream_t> made = CreateStream({});
      if (made.ok()) stream_ = *made;
      return made.status();
    };
    const auto owners = [this] {
      owner_ = MakeStream({0, 0, 0});
      other_ = MakeStream({1, 0, 0});
    };
    const auto context = [this] {
      context_ = *StreamContext::Create({0, 0, 0});
      stream_ = Create({0, 1, 0});
    };
    // The work on other_ is not done, as far as HIP says anything.
    const auto recorded = [this, owners] {
      owners();
      hip.SetBusy(other_->handle());
      sequencing_ = SequencingEvent::Create();
      EXPECT_TRUE(sequencing_->RecordOn(*other_).ok());
    };
    const auto buffers = [this, owners] {
      owners();
      hip.SetBusy(other_->handle());
      from_.emplace(memory_, 8);
      to_.emplace(memory_ + 8, 8);
    };
    const auto no_work = [](hipStream_t) { return absl::OkStatus(); };
    return {
        {"create a stream", nothing, create},
        {"reuse a stream", [this] { Parked(); }, create},
        {"reuse a stream of two",
         [this] {
           hipStream_t a = Create({});
           Parked();
           Destroy(a);
         },
         create},
        {"park a stream", leased, destroy},
        {"park a busy stream",
         [this] {
           stream_ = Create({});
           hip.SetBusy(stream_);
         },
         destroy},
        {"destroy a stream over the limit",
         [this] {
           cache.SetMaxParkedPerKey(0);
           stream_ = Create({});
         },
         destroy},
        {"destroy a capturing stream",
         [this] {
           stream_ = Create({});
           hip.SetCaptureStatus(stream_, hipStreamCaptureStatusActive);
         },
         destroy},
        {"destroy a foreign stream",
         [this] { stream_ = hip.CreateElsewhere(0, 0, 0); }, destroy},
        {"prewarm", nothing,
         [this] {
           return cache.Prewarm({{0, 0, 0}, {1, 0, -1}, {0, 0, 0}});
         }},
        {"trim",
         [this] {
           stream_ = Create({});
           hipStream_t b = Create({});
           Destroy(stream_);
           Destroy(std::exchange(b, nullptr));
           stream_ = nullptr;
         },
         [this] { return cache.Trim(0); }},
        {"wait for a stream", owners,
         [this] { return owner_->WaitFor(*other_); }},
        {"query a stream", owners,
         [this] { return owner_->IsIdle().status(); }},
        {"synchronize a stream", owners,
         [this] { return owner_->BlockHostUntilDone(); }},
        {"enqueue a callback", owners,
         [this] { return owner_->DoHostCallback([] {}); }},
        {"release with a hook",
         [this] {
           owner_ = MakeStream({0, 0, 0});
           owner_->OnRelease([](hipStream_t) {});
         },
         [this] { return owner_->Release(); }},
        {"borrow", [this] { stream_ = hip.CreateElsewhere(0, 0, 0); },
         [this] {
           return RocmStream::Borrow(0, std::exchange(stream_, nullptr))
               .status();
         }},
        {"trim all",
         [this] {
           Parked({1, 0, 0});
         },
         [this] { return cache.TrimAll(); }},
        {"record an event",
         [this, owners] {
           owners();
           scripted_hip::SetCurrentDevice(0);
           EXPECT_EQ(hipEventCreateWithFlags(&event_, 0), hipSuccess);
           scripted_hip::SetCurrentDevice(kCallersDevice);
         },
         [this] {
           absl::Status recorded = owner_->RecordEvent(event_);
           recorded.Update(owner_->WaitFor(event_));
           return recorded;
         }},
        {"record a sequencing event", owners,
         [this] {
           sequencing_ = SequencingEvent::Create();
           return sequencing_->RecordOn(*other_);
         }},
        {"wait on a sequencing event", recorded,
         [this] { return sequencing_->WaitOn(*owner_); }},
        {"try a sequencing event", recorded,
         [this] {
           // That it failed is said to whoever asks from then on.
           absl::Status failed;
           if (sequencing_->TryIsComplete() == true) {
             failed = absl::InternalError("complete, and without an error");
             sequencing_->AndThen(
                 [&](const absl::Status& status) { failed = status; });
             EXPECT_FALSE(failed.ok()) << "the stream is busy";
           }
           return failed;
         }},
        {"block on a sequencing event", recorded,
         [this] {
           // It is asked again and again; at some time the work is done.
           hip.During("hipEventQuery", [this] {
             if (hip.Count("hipEventQuery") == 2) hip.SetIdle(other_->handle());
           });
           return sequencing_->BlockHostUntilComplete();
         }},
        {"copy to a device", buffers,
         [this] {
           return CopyHostToDevice(*to_, memory_, 8, *other_).status();
         }},
        {"copy between devices",
         [this, buffers] {
           buffers();
           EXPECT_TRUE(CopyHostToDevice(*from_, memory_, 8, *other_).ok());
         },
         [this] {
           return CopyDeviceToDevice(*to_, *from_, 8, *owner_).status();
         }},
        {"create a context", [] {},
         [this] {
           absl::StatusOr<std::unique_ptr<StreamContext>> made =
               StreamContext::Create({0, 0, 0});
           if (made.ok()) context_ = *std::move(made);
           return made.status();
         }},
        {"run on an external stream", context,
         [this, no_work] { return context_->RunAsync(stream_, no_work); }},
        {"run on the internal stream", context,
         [this, no_work] { return context_->Run(no_work); }},
        {"use an external stream", context,
         [this] {
           absl::StatusOr<ExternalStreamScope> scope =
               context_->UseExternalStream(stream_);
           return scope.ok() ? scope->Restore() : scope.status();
         }},
        {"order two streams", context,
         [this] {
           absl::Status ordered = context_->WaitFor(stream_);
           ordered.Update(context_->FinishOn(stream_));
           return ordered;
         }},
    };
  }

  // Says nothing of what was asked about.
  static bool Unclear(hipError_t error) {
    return error == hipErrorStreamCaptureUnsupported;
  }

  // Whether the operation can do what it is for, all the same.
  static bool CanBeWorkedAround(const std::string& operation,
                                const std::string& call, hipError_t error,
                                int times) {
    const auto is = [&](const char* prefix) {
      return operation.rfind(prefix, 0) == 0;
    };
    const bool is_of_the_mode = call == "hipThreadExchangeStreamCaptureMode";
    // Another stream, or a new one, will do.
    if (is("reuse")) return call.rfind("hipStream", 0) == 0 || is_of_the_mode;
    // Nothing is known then, so a wait waits, and to block is to ask again.
    if (is("try")) return call != "hipEventQuery" || Unclear(error);
    if (call == "hipEventQuery") return Unclear(error);
    // It only has to go.
    if (is("trim")) {
      return is_of_the_mode || call == "hipStreamGetId" ||
             call == "hipStreamGetDevice" || error == hipErrorInvalidHandle ||
             error == hipErrorContextIsDestroyed;
    }
    // A capture, somewhere: what is not parked is destroyed.
    if (is("park") || is("destroy") || is("release")) {
      return is_of_the_mode ||
             (Unclear(error) && call.rfind("hipStream", 0) == 0);
    }
    return call == "hipStreamCreateWithPriority" && times == 1 &&
           error == hipErrorOutOfMemory;
  }

  // The calls of the operation when nothing fails.
  std::vector<Call> CallsOf(const Operation& operation) {
    StartOver();
    operation.prepare();
    hip.ClearCalls();
    absl::Status status = operation.run();
    EXPECT_TRUE(status.ok()) << operation.name << ": " << status;
    std::vector<Call> calls = hip.Calls();
    CleanUp();
    return calls;
  }

  void CleanUp() {
    hip.FailNothing();
    scripted_hip::SetCurrentDevice(kCallersDevice);
    sequencing_.reset();
    from_.reset();
    to_.reset();
    owner_.reset();
    other_.reset();
    context_.reset();
    if (event_ != nullptr) {
      EXPECT_EQ(hipEventDestroy(std::exchange(event_, nullptr)), hipSuccess);
    }
    hip.RunHostCallbacks();
    if (stream_ != nullptr) {
      (void)DestroyStream(0, std::exchange(stream_, nullptr));
    }
    EXPECT_TRUE(cache.TrimAll().ok());
  }

  void Check(const Operation& operation, const std::vector<Call>& calls,
             size_t failing, hipError_t error, int times) {
    const std::string& name = calls[failing].name;
    SCOPED_TRACE(operation.name + ": call " + std::to_string(failing) + ", " +
                 name + ", answers " + hipGetErrorName(error) +
                 (times == 1 ? " once" : " for ever"));
    StartOver();
    operation.prepare();
    hip.ClearCalls();
    hip.Fail(name, error,
             std::count_if(calls.begin(), calls.begin() + failing,
                           [&](const Call& c) { return c.name == name; }),
             times);
    const absl::Status status = operation.run();

    // No retry loop.
    EXPECT_LE(hip.Calls().size(), calls.size() + 24);
    EXPECT_LE(hip.Count("hipStreamDestroy"),
              std::count_if(calls.begin(), calls.end(), [](const Call& c) {
                return c.name == "hipStreamDestroy";
              }) + 4);
    // The caller's device and mode, unless that is what failed.
    if (name != "hipSetDevice") {
      EXPECT_EQ(scripted_hip::CurrentDevice(), kCallersDevice);
    }
    if (name != "hipThreadExchangeStreamCaptureMode") {
      EXPECT_EQ(scripted_hip::CurrentMode(), hipStreamCaptureModeGlobal);
    }
    EXPECT_EQ(scripted_hip::LastError(), hipSuccess);
    // What can't be worked around is reported, by name.
    EXPECT_TRUE(!status.ok() ||
                CanBeWorkedAround(operation.name, name, error, times));
    if (!status.ok() && times == 1) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(name));
    }
    if (name == "hipStreamCreateWithPriority" && error == hipErrorOutOfMemory &&
        times != 1) {
      EXPECT_THAT(status, IsResourceExhausted());
    }

    // A wait that was reported as enqueued is, or was not needed.
    if (status.ok() && operation.name == "wait on a sequencing event") {
      EXPECT_EQ(hip.Count("hipStreamWaitEvent"), 1);
    }
    // Whoever waits for what could not be enqueued or recorded hears why.
    if (!status.ok() && operation.name == "record a sequencing event") {
      EXPECT_EQ(sequencing_->WaitOn(*other_), status);
    }
    if (!status.ok() && to_) {
      EXPECT_EQ(to_->WaitUntilDefined(*other_), status);
    }

    // Nothing is lost, but what HIP says is gone or would not destroy.
    hip.FailNothing();
    if (scripted_hip::CurrentMode() != hipStreamCaptureModeGlobal) {
      hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
      (void)hipThreadExchangeStreamCaptureMode(&mode);
    }
    CleanUp();
    EXPECT_EQ(Stats().leased_now, 0);
    EXPECT_EQ(Stats().parked_now, 0);
    if (error != hipErrorInvalidHandle && error != hipErrorContextIsDestroyed &&
        operation.name != "borrow" &&
        operation.name != "destroy a foreign stream") {
      EXPECT_EQ(hip.LiveStreams(), Stats().abandoned);
    }
    EXPECT_EQ(hip.LiveEvents(), 0);

    // And the pool works as before.
    cache.SetMaxParkedPerKey(32);
    std::set<hipStream_t> distinct;
    for (int i = 0; i < 4; ++i) {
      hipStream_t stream = Create({});
      EXPECT_TRUE(hip.IsLive(stream));
      distinct.insert(stream);
    }
    EXPECT_EQ(distinct.size(), 4u);
    for (hipStream_t stream : distinct) Destroy(stream);
    EXPECT_EQ(Stats().parked_now, 4);
    EXPECT_THAT(hip.Faults(), IsEmpty());
  }
};

TEST_F(HipFailureTest, EveryCallFailsInTurn) {
  int cases = 0;
  for (const Operation& operation : Operations()) {
    const std::vector<Call> calls = CallsOf(operation);
    ASSERT_FALSE(calls.empty());
    for (size_t failing = 0; failing < calls.size(); ++failing) {
      for (hipError_t error : kErrors) {
        for (int times : {1, ScriptedHip::kForever}) {
          Check(operation, calls, failing, error, times);
          ++cases;
          if (HasFailure()) return;  // one is enough to read
        }
      }
    }
  }
  RecordProperty("cases", cases);
  std::printf("%d cases\n", cases);
}

TEST_F(HipFailureTest, WithNothingWorkingEveryOperationReturns) {
  // As a runtime from HIP 7.0 after a fault of the GPU: every call fails.
  std::set<std::string> names;
  for (const Operation& operation : Operations()) {
    for (const Call& call : CallsOf(operation)) names.insert(call.name);
  }
  for (const Operation& operation : Operations()) {
    SCOPED_TRACE(operation.name);
    StartOver();
    operation.prepare();
    for (const std::string& name : names) {
      hip.Fail(name, hipErrorLaunchFailure, 0, ScriptedHip::kForever);
    }
    // That HIP does not answer is not an event's error.
    EXPECT_EQ(operation.run().ok(), operation.name == "try a sequencing event");
    CleanUp();
  }
}

}  // namespace
}  // namespace hip_stream_pool
