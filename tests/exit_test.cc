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
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/gpu_choice.h"
#include "hip_stream_pool/create_stream.h"
#include "hip_stream_pool/rocm_stream.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "simulated_hsa/simulated_hsa.h"

namespace {

using hip_stream_pool::CreateStream;
using hip_stream_pool::DestroyStream;
using hip_stream_pool::RocmStream;
using hip_stream_pool::StreamHandleCache;

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
void UseAllOfThePool(hipStream_t lent) {
  StreamHandleCache& cache = StreamHandleCache::Get();
  Require(
      CreateStream({}).status().code() == absl::StatusCode::kFailedPrecondition,
      "CreateStream did not refuse");
  Require(DestroyStream(0, lent).ok(), "DestroyStream reported an error");
  Require(!cache.Prewarm({{}}).ok(), "Prewarm did not refuse");
  Require(cache.Trim(0).ok() && cache.TrimAll().ok(), "Trim reported an error");
  cache.Invalidate(0);
  (void)cache.GetStats();
  Require(!RocmStream::Borrow(0, nullptr).ok(), "Borrow did not refuse");
}

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

void Run(const std::string& scenario) {
  if (scenario == "parked_and_lent") {
    hipStream_t parked = Create();
    Create();
    Require(DestroyStream(0, parked).ok(), "DestroyStream failed");
  } else if (scenario == "static_made_before_the_pool") {
    made_before_the_pool = MakeOwner();
    made_before_the_pool->OnRelease([](hipStream_t) { Fail("a hook ran"); });
  } else if (scenario == "static_made_after_the_pool") {
    Create();
    static RocmStream owner = MakeOwner();
  } else if (scenario == "handler_added_before_the_pool") {
    std::atexit(AtExit);
    lent_in_main = Create();
  } else if (scenario == "handler_added_after_the_pool") {
    lent_in_main = Create();
    std::atexit(AtExit);
  } else if (scenario == "thread_local_of_main") {
    // Destroyed before HIP's own thread-local objects are: may call HIP.
    main_thread_may_call_hip_after_main = true;
    of_this_thread = MakeOwner();
  } else if (scenario == "thread_local_of_a_thread") {
    std::thread([] { of_this_thread = MakeOwner(); }).join();
    Require(StreamHandleCache::Get().GetStats().parked_now == 1,
            "the thread's stream is lost");
  } else if (scenario == "threads_running") {
    StartWorkers(3);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  } else if (scenario == "exit_from_a_thread") {
    Create();
    main_thread_may_call_hip = false;
    std::thread([] { exit(0); }).join();
  } else if (scenario == "quick_exit") {
    StartWorkers(1);
    Create();
    quick_exit(0);
  } else if (scenario == "prewarm_only") {
    Require(StreamHandleCache::Get().Prewarm({{}, {}}).ok(), "Prewarm failed");
    made_before_the_pool = MakeOwner();
  } else if (scenario == "first_use_by_two_threads") {
    std::thread a([] { Create(); });
    std::thread b([] { Create(); });
    a.join();
    b.join();
    made_before_the_pool = MakeOwner();
  } else if (scenario == "main_thread_gets_only_hits") {
    std::thread([] {
      Require(StreamHandleCache::Get().Prewarm({{}}).ok(), "Prewarm failed");
    }).join();
    static RocmStream owner = MakeOwner();
  } else if (scenario == "borrowed_only") {
    absl::StatusOr<RocmStream> borrowed = RocmStream::Borrow(0, nullptr);
    Require(borrowed.ok(), "Borrow failed");
    made_before_the_pool = *std::move(borrowed);
    made_before_the_pool->OnRelease([](hipStream_t) { Fail("a hook ran"); });
    Fork([] {
      Require(!made_before_the_pool->BlockHostUntilDone().ok(),
              "the child used the stream");
    });
  } else if (scenario == "fork_in_the_first_call") {
    std::thread first([] { Create(); });
    while (calls == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    Fork([] { Require(!CreateStream({}).ok(), "the child has a stream"); });
    first.join();
  } else if (scenario == "pool_used_by_a_thread_only") {
    std::thread([] { made_before_the_pool = MakeOwner(); }).join();
  } else if (scenario == "never_used") {
  } else if (scenario == "destroy_waits_at_exit") {
    simulated_hsa::Control* simulation = simulated_hsa::Get();
    if (simulation == nullptr) exit(kSkipped);
    hipStream_t stream = Create();
    void* memory = nullptr;
    Require(hipMalloc(&memory, 64) == hipSuccess, "hipMalloc failed");
    simulation->Hold();
    Require(hipMemsetAsync(memory, 1, 64, stream) == hipSuccess, "memset");
    std::thread([stream] { (void)DestroyStream(0, stream); }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  } else if (scenario == "fork_after_use") {
    RocmStream owner = MakeOwner();
    hipStream_t lent = Create();
    Require(DestroyStream(0, Create()).ok(), "DestroyStream failed");
    Fork([&] {
      UseAllOfThePool(lent);
      Require(StreamHandleCache::Get().GetStats().leased_now == 0,
              "the child remembers a handle");
      Require(!owner.BlockHostUntilDone().ok(), "the child used the stream");
      RocmStream ends_in_the_child = std::move(owner);
    });
    Require(owner.BlockHostUntilDone().ok(), "the parent's stream is broken");
    Require(DestroyStream(0, lent).ok(), "the parent's handle is broken");
    Require(StreamHandleCache::Get().GetStats().parked_now == 2,
            "the parent's books are wrong");
  } else if (scenario == "fork_among_threads") {
    hipStream_t lent = Create();
    StartWorkers(3);
    for (int i = 0; i < 50; ++i) {
      Fork([lent] { UseAllOfThePool(lent); });
    }
  } else if (scenario == "fork_before_use") {
    const pid_t pid = fork();
    hipStream_t stream = Create();
    Require(DestroyStream(0, stream).ok() && Create() == stream,
            "the pool does not work");
    int status = 0;
    if (pid != 0) {
      Require(waitpid(pid, &status, 0) == pid && status == 0,
              "the child failed");
    }
  } else {
    Fail("no such scenario");
  }
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
WATCH(hipGetLastError, (), ())

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
