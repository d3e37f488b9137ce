// SPDX-License-Identifier: Apache-2.0
//
// exit_test SCENARIO: a program that uses the pool and ends, in one of many
// ways. It fails if it crashes, hangs or reports a problem, and if the pool
// calls HIP when it must not: after main on the main thread, after the static
// destructors on any thread, and in a forked child.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "gpu/gpu_choice.h"
#include "hip_stream_pool/create_stream.h"
#include "hip_stream_pool/rocm_stream.h"
#include "hip_stream_pool/sequencing_event.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "hip_stream_pool/tracked_buffer.h"
#include "simulated_hsa/simulated_hsa.h"

namespace {

using hip_stream_pool::CopyHostToDevice;
using hip_stream_pool::CreateStream;
using hip_stream_pool::DestroyStream;
using hip_stream_pool::RocmStream;
using hip_stream_pool::SequencingEvent;
using hip_stream_pool::StreamHandleCache;
using hip_stream_pool::TrackedBuffer;

constexpr int kSkipped = 77;  // as ctest has it

std::atomic<bool> main_thread_may_call_hip{true};
std::atomic<bool> threads_may_call_hip{true};
bool main_thread_may_call_hip_after_main = false;
std::atomic<long> calls{0};    // NOLINT(google-runtime-int)
std::atomic<pid_t> parent{0};  // while a child may run
std::thread::id main_thread;

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "exit_test: %s\n", what);
  std::fflush(stderr);
  abort();
}

void Require(bool condition, const char* what) {
  if (!condition) Fail(what);
}

void NoteHipCall(const char* name) {
  ++calls;
  const pid_t allowed = parent;
  if (allowed != 0 && getpid() != allowed) {
    std::fprintf(stderr, "%s: ", name);
    Fail("HIP call in a forked child");
  }
  if (!threads_may_call_hip) Fail("HIP call after the static destructors");
  if (!main_thread_may_call_hip && std::this_thread::get_id() == main_thread) {
    std::fprintf(stderr, "%s: ", name);
    Fail("HIP call after main");
  }
}

// The first static object to be made, and so the last to be destroyed. While it
// is, threads that the program left running go on.
struct LastToGo {
  ~LastToGo() {
    threads_may_call_hip = false;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
};
LastToGo last_to_go;
std::optional<RocmStream> made_before_the_pool;
thread_local std::optional<RocmStream> of_this_thread;

hipStream_t Create() {
  absl::StatusOr<hipStream_t> stream = CreateStream({});
  Require(stream.ok(), "CreateStream failed");
  return *stream;
}

RocmStream MakeOwner() {
  absl::StatusOr<RocmStream> stream = RocmStream::Create({});
  Require(stream.ok(), "RocmStream::Create failed");
  return *std::move(stream);
}

// In the state in which HIP must not be called any more.
void UseAllOfThePool(hipStream_t leased) {
  StreamHandleCache& cache = StreamHandleCache::Get();
  Require(
      CreateStream({}).status().code() == absl::StatusCode::kFailedPrecondition,
      "CreateStream did not refuse");
  Require(DestroyStream(0, leased).ok(), "DestroyStream reported an error");
  Require(!cache.Prewarm({{}}).ok(), "Prewarm did not refuse");
  Require(cache.Trim(0).ok() && cache.TrimAll().ok(), "Trim reported an error");
  cache.Invalidate(0);
  (void)cache.GetStats();
  Require(!RocmStream::Borrow(0, nullptr).ok(), "Borrow did not refuse");
}

// Events of a program, in each state, and what it has of theirs.
struct Events {
  static Events Make(const RocmStream& stream) {
    Events events;
    Require(events.recorded->RecordOn(stream).ok(), "RecordOn failed");
    Require(events.buffer.SetProducerEvent(events.recorded).ok(), "no event");
    Require(events.failed->SetError(absl::UnknownError("")).ok(), "no error");
    return events;
  }

  // Where HIP must not be called any more.
  void UseAll(const RocmStream& stream) const {
    const auto refused = [](const absl::Status& status) {
      Require(status.code() == absl::StatusCode::kFailedPrecondition,
              "an event or a buffer did not refuse");
    };
    refused(recorded->WaitOn(stream));
    refused(recorded->BlockHostUntilComplete());
    Require(recorded->TryIsComplete() == false, "it knows that it is complete");
    Require(failed->TryIsComplete() == true, "it has not failed");
    refused(pending->WaitOn(stream));
    Require(pending->TryIsComplete() == std::nullopt, "it is recorded");
    refused(SequencingEvent::Create()->RecordOn(stream));
    refused(buffer.WaitUntilDefined(stream));
    TrackedBuffer other(&memory, 1);
    refused(CopyHostToDevice(other, &memory, 1, stream).status());
  }

  std::shared_ptr<SequencingEvent> recorded = SequencingEvent::Create();
  std::shared_ptr<SequencingEvent> failed = SequencingEvent::Create();
  std::shared_ptr<SequencingEvent> pending = SequencingEvent::Create();
  static char memory;
  TrackedBuffer buffer{&memory, 1};
};

char Events::memory = 0;

// Destroyed with the static objects.
struct UsedAtExit {
  ~UsedAtExit() {
    if (!events) return;
    events->UseAll(*stream);
    absl::Status heard;
    events->pending->AndThen([&](const absl::Status& s) { heard = s; });
    events->pending.reset();
    Require(heard.code() == absl::StatusCode::kCancelled,
            "whoever waits was not told");
  }
  void Fill() {
    stream = MakeOwner();
    events = Events::Make(*stream);
  }
  std::optional<Events> events;
  std::optional<RocmStream> stream;
};
UsedAtExit used_at_exit;

hipStream_t lent_in_main = nullptr;
void AtExit() { UseAllOfThePool(lent_in_main); }

// Each has had a stream when this returns: to exit while another thread's first
// HIP call is loading libraries is the end of any program.
void StartWorkers(int count) {
  static std::atomic<int> ready{0};
  for (int i = 0; i < count; ++i) {
    std::thread([] {
      for (int64_t cycle = 0;; ++cycle) {
        absl::StatusOr<hipStream_t> stream = CreateStream({});
        if (stream.ok()) (void)DestroyStream(0, *stream);
        if (cycle == 0) ++ready;
      }
    }).detach();
  }
  while (ready < count) std::this_thread::yield();
}

// Runs the child's part in a child, which must end well within ten seconds.
template <typename Child>
void Fork(Child child) {
  parent = getpid();
  const pid_t pid = fork();
  Require(pid >= 0, "fork failed");
  if (pid == 0) {
    alarm(10);
    child();
    exit(0);
  }
  int status = 0;
  Require(waitpid(pid, &status, 0) == pid, "waitpid failed");
  parent = 0;
  Require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child failed");
}

// The stream has work until the program ends.
void GiveEndlessWork(hipStream_t stream) {
  simulated_hsa::Control* simulation = simulated_hsa::Get();
  if (simulation == nullptr) exit(kSkipped);
  void* memory = nullptr;
  Require(hipMalloc(&memory, 64) == hipSuccess, "hipMalloc failed");
  simulation->Hold();
  Require(hipMemsetAsync(memory, 1, 64, stream) == hipSuccess, "memset");
}

void NeverUsed() {}

void ParkedAndLeased() {
  hipStream_t parked = Create();
  Create();
  Require(DestroyStream(0, parked).ok(), "DestroyStream failed");
}

void StaticMadeBeforeThePool() {
  made_before_the_pool = MakeOwner();
  made_before_the_pool->OnRelease([](hipStream_t) { Fail("a hook ran"); });
}

void StaticMadeAfterThePool() {
  Create();
  static RocmStream owner = MakeOwner();
}

void HandlerAddedBeforeThePool() {
  std::atexit(AtExit);
  lent_in_main = Create();
}

void HandlerAddedAfterThePool() {
  lent_in_main = Create();
  std::atexit(AtExit);
}

void ThreadLocalOfMain() {
  // Destroyed before HIP's own thread-local objects are: may call HIP.
  main_thread_may_call_hip_after_main = true;
  of_this_thread = MakeOwner();
}

void ThreadLocalOfAThread() {
  std::thread([] { of_this_thread = MakeOwner(); }).join();
  Require(StreamHandleCache::Get().GetStats().parked_now == 1,
          "the thread's stream is lost");
}

void ThreadsRunning() {
  StartWorkers(3);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

void ExitFromAThread() {
  Create();
  main_thread_may_call_hip = false;
  std::thread([] { exit(0); }).join();
}

void QuickExit() {
  StartWorkers(1);
  Create();
  quick_exit(0);
}

void PoolUsedByAThreadOnly() {
  std::thread([] { made_before_the_pool = MakeOwner(); }).join();
}

void PrewarmOnly() {
  Require(StreamHandleCache::Get().Prewarm({{}, {}}).ok(), "Prewarm failed");
  made_before_the_pool = MakeOwner();
}

void FirstUseByTwoThreads() {
  std::thread a([] { Create(); });
  std::thread b([] { Create(); });
  a.join();
  b.join();
  made_before_the_pool = MakeOwner();
}

void MainThreadGetsOnlyHits() {
  std::thread([] {
    Require(StreamHandleCache::Get().Prewarm({{}}).ok(), "Prewarm failed");
  }).join();
  static RocmStream owner = MakeOwner();
}

void BorrowedOnly() {
  absl::StatusOr<RocmStream> borrowed = RocmStream::Borrow(0, nullptr);
  Require(borrowed.ok(), "Borrow failed");
  made_before_the_pool = *std::move(borrowed);
  made_before_the_pool->OnRelease([](hipStream_t) { Fail("a hook ran"); });
  Fork([] {
    Require(!made_before_the_pool->BlockHostUntilDone().ok(),
            "the child used the stream");
  });
}

void DestroyWaitsAtExit() {
  hipStream_t stream = Create();
  GiveEndlessWork(stream);
  std::thread([stream] { (void)DestroyStream(0, stream); }).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

void EventsAliveAtExit() {
  used_at_exit.Fill();
  static UsedAtExit made_after_the_pool;
  made_after_the_pool.Fill();
}

void EventsInUseAtExit() {
  struct Shared {
    RocmStream busy = MakeOwner();
    RocmStream stream = MakeOwner();
    RocmStream other = MakeOwner();
    Events events = Events::Make(stream);
    std::shared_ptr<SequencingEvent> held = SequencingEvent::Create();
  };
  static Shared& shared = *new Shared;
  GiveEndlessWork(shared.busy.handle());
  Require(shared.held->RecordOn(shared.busy).ok(), "RecordOn failed");
  static std::atomic<bool> waits{false};
  std::thread([] {
    waits = true;
    // Refused if the program has begun to end before the thread gets there.
    Require(shared.events.pending->WaitOn(shared.stream).code() ==
                absl::StatusCode::kFailedPrecondition,
            "a wait for an event that nobody records ended");
  }).detach();
  std::thread([] { (void)shared.held->BlockHostUntilComplete(); }).detach();
  static std::atomic<int> rounds{0};
  for (int i = 0; i < 2; ++i) {
    std::thread([] {
      for (;; ++rounds) {
        auto event = SequencingEvent::Create();
        (void)event->RecordOn(shared.stream);
        (void)event->TryIsComplete();
        (void)event->WaitOn(shared.other);
        (void)shared.events.buffer.WaitUntilDefined(shared.other);
      }
    }).detach();
  }
  while (rounds < 100 || !waits) std::this_thread::yield();
}

void EventsInAForkedChild() {
  used_at_exit.Fill();
  const RocmStream& stream = *used_at_exit.stream;
  Events& events = *used_at_exit.events;
  std::atomic<int> ran{0};
  events.pending->AndThen([&](const absl::Status&) { ++ran; });
  // One whose event has but one owner, that the child destroys.
  std::thread waiter([pending = events.pending.get(), &stream] {
    Require(pending->WaitOn(stream).ok(), "the parent's wait failed");
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  Fork([&] {
    events.UseAll(stream);
    Require(events.buffer.DefinitionEvent(false) == nullptr,
            "the child has an event");
    used_at_exit.events.reset();
    Require(ran == 0, "the child ran its parent's callback");
    used_at_exit.stream.reset();
  });
  Require(events.pending->RecordOn(stream).ok(), "RecordOn failed");
  waiter.join();
  Require(ran == 1, "the parent's callback did not run");
  Require(events.recorded->BlockHostUntilComplete().ok(), "it is broken");
  used_at_exit.events.reset();
}

// While a thread that uses events may have any lock, at any time.
void EventsInAChildForkedAmongThreads() {
  used_at_exit.Fill();
  const RocmStream& stream = *used_at_exit.stream;
  std::atomic<bool> stop{false};
  std::thread user([&] {
    while (!stop) {
      auto event = SequencingEvent::Create();
      event->AndThen([](const absl::Status&) {});
      (void)event->RecordOn(stream);
      (void)event->WaitOn(stream);
    }
  });
  for (int i = 0; i < 50; ++i) {
    auto pending = SequencingEvent::Create();
    auto recorded = SequencingEvent::Create();
    Require(recorded->RecordOn(stream).ok(), "RecordOn failed");
    Fork([&] {
      pending.reset();
      recorded.reset();
      used_at_exit.events.reset();
      // What the other thread has is nobody's here, which is no leak.
      _exit(0);
    });
  }
  stop = true;
  user.join();
  used_at_exit.events.reset();
}

void ForkInTheFirstCall() {
  std::thread first([] { Create(); });
  while (calls == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  Fork([] { Require(!CreateStream({}).ok(), "the child has a stream"); });
  first.join();
}

void ForkAfterUse() {
  RocmStream owner = MakeOwner();
  hipStream_t leased = Create();
  Require(DestroyStream(0, Create()).ok(), "DestroyStream failed");
  Fork([&] {
    UseAllOfThePool(leased);
    Require(StreamHandleCache::Get().GetStats().leased_now == 0,
            "the child remembers a handle");
    Require(!owner.BlockHostUntilDone().ok(), "the child used the stream");
    RocmStream ends_in_the_child = std::move(owner);
  });
  Require(owner.BlockHostUntilDone().ok(), "the parent's stream is broken");
  Require(DestroyStream(0, leased).ok(), "the parent's handle is broken");
  Require(StreamHandleCache::Get().GetStats().parked_now == 2,
          "the parent's books are wrong");
}

void ForkAmongThreads() {
  hipStream_t leased = Create();
  StartWorkers(3);
  for (int i = 0; i < 50; ++i) {
    Fork([leased] { UseAllOfThePool(leased); });
  }
}

void ForkBeforeUse() {
  const pid_t pid = fork();
  hipStream_t stream = Create();
  Require(DestroyStream(0, stream).ok() && Create() == stream,
          "the pool does not work");
  int status = 0;
  if (pid != 0) {
    Require(waitpid(pid, &status, 0) == pid && status == 0, "the child failed");
  }
}

const struct {
  const char* name;
  void (*run)();
} kScenarios[] = {
    {"never_used", NeverUsed},
    {"parked_and_leased", ParkedAndLeased},
    {"static_made_before_the_pool", StaticMadeBeforeThePool},
    {"static_made_after_the_pool", StaticMadeAfterThePool},
    {"handler_added_before_the_pool", HandlerAddedBeforeThePool},
    {"handler_added_after_the_pool", HandlerAddedAfterThePool},
    {"thread_local_of_main", ThreadLocalOfMain},
    {"thread_local_of_a_thread", ThreadLocalOfAThread},
    {"threads_running", ThreadsRunning},
    {"exit_from_a_thread", ExitFromAThread},
    {"quick_exit", QuickExit},
    {"pool_used_by_a_thread_only", PoolUsedByAThreadOnly},
    {"borrowed_only", BorrowedOnly},
    {"fork_in_the_first_call", ForkInTheFirstCall},
    {"prewarm_only", PrewarmOnly},
    {"first_use_by_two_threads", FirstUseByTwoThreads},
    {"main_thread_gets_only_hits", MainThreadGetsOnlyHits},
    {"destroy_waits_at_exit", DestroyWaitsAtExit},
    {"events_alive_at_exit", EventsAliveAtExit},
    {"events_in_use_at_exit", EventsInUseAtExit},
    {"events_in_a_forked_child", EventsInAForkedChild},
    {"events_in_a_child_forked_among_threads",
     EventsInAChildForkedAmongThreads},
    {"fork_after_use", ForkAfterUse},
    {"fork_among_threads", ForkAmongThreads},
    {"fork_before_use", ForkBeforeUse},
};

void Run(const char* name) {
  for (const auto& scenario : kScenarios) {
    if (std::strcmp(name, scenario.name) == 0) return scenario.run();
  }
  Fail("no such scenario");
}

}  // namespace

// The pool's HIP calls come through here.
#define WATCH(name, parameters, arguments)                          \
  extern "C" hipError_t name parameters {                           \
    NoteHipCall(#name);                                             \
    static const auto real =                                        \
        reinterpret_cast<decltype(&name)>(dlsym(RTLD_NEXT, #name)); \
    return real arguments;                                          \
  }
WATCH(hipGetDeviceCount, (int* count), (count))
WATCH(hipGetDevice, (int* device), (device))
WATCH(hipSetDevice, (int device), (device))
WATCH(hipThreadExchangeStreamCaptureMode, (hipStreamCaptureMode * mode), (mode))
WATCH(hipStreamCreateWithPriority,
      (hipStream_t * stream, unsigned int flags, int priority),
      (stream, flags, priority))
WATCH(hipStreamDestroy, (hipStream_t stream), (stream))
WATCH(hipStreamQuery, (hipStream_t stream), (stream))
WATCH(hipStreamSynchronize, (hipStream_t stream), (stream))
WATCH(hipStreamIsCapturing,
      (hipStream_t stream, hipStreamCaptureStatus* status), (stream, status))
WATCH(hipStreamGetFlags, (hipStream_t stream, unsigned int* flags),
      (stream, flags))
WATCH(hipStreamGetPriority, (hipStream_t stream, int* priority),
      (stream, priority))
#if HIP_VERSION >= 50600000
WATCH(hipStreamGetDevice, (hipStream_t stream, hipDevice_t* device),
      (stream, device))
#endif
#if HIP_VERSION >= 70100000
WATCH(hipStreamGetId, (hipStream_t stream, unsigned long long* id),  // NOLINT
      (stream, id))
#endif
WATCH(hipDeviceGetStreamPriorityRange, (int* least, int* greatest),
      (least, greatest))
WATCH(hipGetLastError, (), ())
WATCH(hipEventCreateWithFlags, (hipEvent_t * event, unsigned int flags),
      (event, flags))
WATCH(hipEventDestroy, (hipEvent_t event), (event))
WATCH(hipEventRecord, (hipEvent_t event, hipStream_t stream), (event, stream))
WATCH(hipEventQuery, (hipEvent_t event), (event))
WATCH(hipEventSynchronize, (hipEvent_t event), (event))
WATCH(hipStreamWaitEvent,
      (hipStream_t stream, hipEvent_t event, unsigned int flags),
      (stream, event, flags))
WATCH(hipMemcpyAsync,
      (void* to, const void* from, size_t size, hipMemcpyKind kind,
       hipStream_t stream),
      (to, from, size, kind, stream))

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: exit_test SCENARIO\n");
    return 2;
  }
  hip_stream_pool::ChooseGpu(argv);
  main_thread = std::this_thread::get_id();
  Run(argv[1]);
  if (std::strcmp(argv[1], "never_used") != 0) {
    Require(calls > 0, "HIP calls go unnoticed");
  }
  main_thread_may_call_hip = main_thread_may_call_hip_after_main;
  return 0;
}
