// SPDX-License-Identifier: Apache-2.0
#include "preload/summary.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hip/call_guard.h"
#include "preload/environment.h"
#include "process_pool.h"
#include "stderr_line.h"

namespace hip_stream_pool {

Summary summary;

namespace {

int64_t Now() {
  const std::chrono::nanoseconds now =
      std::chrono::steady_clock::now().time_since_epoch();
  return now.count();
}

// Of this thread, in the calls that are timed.
thread_local int64_t nanoseconds_in_hip = 0;

decltype(&hipStreamCreateWithPriority) timed_create = nullptr;
decltype(&hipStreamDestroy) timed_destroy = nullptr;
decltype(&hipGetDevice) get_device = nullptr;

hipError_t TimedCreate(hipStream_t* stream, unsigned int flags, int priority) {
  int device = -1;
  (void)get_device(&device);  // the pool has just set it
  const Summary::Start start = summary.BeginCreation(device, priority);
  const int64_t begin = Now();
  const hipError_t error = timed_create(stream, flags, priority);
  const int64_t nanoseconds = Now() - begin;
  summary.EndCreation(start, error == hipSuccess, nanoseconds);
  nanoseconds_in_hip += nanoseconds;
  return error;
}

hipError_t TimedDestroy(hipStream_t stream) {
  const int64_t begin = Now();
  const hipError_t error = timed_destroy(stream);
  const int64_t nanoseconds = Now() - begin;
  if (error == hipSuccess) summary.AddDestroy(nanoseconds);
  nanoseconds_in_hip += nanoseconds;
  return error;
}

long long Long(int64_t value) { return value; }  // NOLINT: for printf

// A time in the unit that suits it, with one decimal, if there were any calls.
class Text {
 public:
  explicit Text(int64_t nanoseconds, bool any = true) {
    if (!any) {
      std::snprintf(text_, sizeof(text_), "not measured");
      return;
    }
    int64_t tenths = nanoseconds / 100;
    const char* unit = "us";
    for (const char* larger : {"ms", "s"}) {
      if (tenths < 10000) break;
      tenths /= 1000;
      unit = larger;
    }
    std::snprintf(text_, sizeof(text_), "%lld.%lld %s", Long(tenths / 10),
                  Long(tenths % 10), unit);
  }
  const char* c_str() const { return text_; }

 private:
  char text_[32];
};

// Whether a libamdhip64 is loaded, without the loader's locks.
bool IsHipMapped() {
  constexpr char kName[] = "/libamdhip64";
  constexpr size_t kLength = sizeof(kName) - 1;
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  char text[4096];
  size_t matched = 0;
  ssize_t size = 0;
  bool found = false;
  while (!found && (size = read(file, text, sizeof(text))) > 0) {
    for (ssize_t i = 0; i < size && !found; ++i) {
      found = matched == kLength && (text[i] == '.' || text[i] == '-');
      if (matched == kLength) matched = 0;
      matched = text[i] == kName[matched] ? matched + 1 : text[i] == *kName;
    }
  }
  if (file >= 0) close(file);
  return found;
}

int pid_at_load = 0;

// Of each device and priority, as HIP has them.
int most_queues = 4;

void PrintSummary() { summary.Print(); }

// When this library is loaded: handlers that were added early run late.
__attribute__((constructor)) void ArrangeSummary() {
  if (!IsSummaryWanted()) return;
  pid_at_load = getpid();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here sets variables.
  if (const char* queues = std::getenv("GPU_MAX_HW_QUEUES")) {
    most_queues = std::max(most_queues, std::atoi(queues));
  }
  std::atexit(PrintSummary);
  at_quick_exit(PrintSummary);
}

}  // namespace

void TimeCallsForSummary(RealHip& hip) {
  if (!IsSummaryWanted()) return;
  timed_create = hip.functions.hipStreamCreateWithPriority.call;
  timed_destroy = hip.functions.hipStreamDestroy.call;
  get_device = hip.functions.hipGetDevice.call;
  hip.functions.hipStreamCreateWithPriority.call = TimedCreate;
  hip.functions.hipStreamDestroy.call = TimedDestroy;
}

Stopwatch::Stopwatch() {
  if (IsSummaryWanted()) start_ = Now() - nanoseconds_in_hip;
}

int64_t Stopwatch::InPool() const {
  return Now() - nanoseconds_in_hip - start_;
}

void Summary::AddHips(Half half, int64_t nanoseconds) {
  int64_t shortest = shortest_of_hip_[half];
  while (nanoseconds < shortest &&
         !shortest_of_hip_[half].compare_exchange_weak(shortest, nanoseconds)) {
  }
}

void Summary::Add(Half half, bool answered, const Stopwatch& stopwatch) {
  if (!IsSummaryWanted()) return;
  const int64_t in_pool = stopwatch.InPool();
  if (pid_.load(std::memory_order_relaxed) == 0) pid_ = getpid();
  const int thread = ThreadNumber();
  if (thread <= 0 || thread >= kMostThreads) return;
  Calls& calls = calls_[thread][half];
  (answered ? calls.in_pool_answered : calls.in_pool_others) += in_pool;
  if (answered) ++calls.answered;
}

Summary::Start Summary::BeginCreation(int device, int priority) {
  Start start;
  start.device = device;
  start.priority = std::clamp(priority + 1, 0, kPriorities - 1);
  start.is_startup =
      device < 0 || device >= kMostDevices || !is_started_[device];
  start.may_make_queue =
      start.is_startup || created_[device][start.priority] < most_queues;
  if (start.is_startup) ++startups_begun_;
  // In this order: what has ended had begun.
  const uint64_t ended = startups_ended_;
  start.startups_begun = startups_begun_;
  start.is_alone = ended == start.startups_begun;
  return start;
}

void Summary::EndCreation(const Start& start, bool succeeded,
                          int64_t nanoseconds) {
  if (start.is_startup) {
    if (succeeded && start.device >= 0 && start.device < kMostDevices) {
      is_started_[start.device] = true;
    }
    ++startups_ended_;
  } else if (succeeded && !start.may_make_queue && start.is_alone &&
             start.startups_begun == startups_begun_) {
    AddHips(kCreate, nanoseconds);
  }
  if (succeeded && start.device >= 0 && start.device < kMostDevices) {
    ++created_[start.device][start.priority];
  }
}

void Summary::AddDestroy(int64_t nanoseconds) {
  AddHips(kDestroy, nanoseconds);
}

void Summary::NoteReset(int device) {
  if (device < 0 || device >= kMostDevices) return;
  is_started_[device] = false;
  for (std::atomic<int>& created : created_[device]) created = 0;
}

void Summary::PrintUnused(int pid) const {
  // Most programs that a preloaded shell starts have no HIP at all.
  if (!IsHipMapped()) return;
  const char* why =
      "HIP is loaded, but no stream was created through this library";
  if (!IsSwitchedOn()) why = "switched off";
  const bool disabled = StandsAside();
  PrintLine("[%d]: hits 0, misses 0: %s%s", pid, disabled ? "disabled: " : "",
            disabled ? WhyStandsAside() : why);
}

void Summary::Print() {
  const int pid = getpid();
  const bool used = pid_ != 0;
  if (pid != (used ? pid_.load() : pid_at_load)) return;  // a forked child
  if (printed_.exchange(true)) return;
  if (!used) return PrintUnused(pid);
  const StreamCacheStats stats = ProcessPool().GetStats();
  const auto hip_text = [&](Half half) {
    return Text(shortest_of_hip_[half], IsTimed(half));
  };
  const auto pool_text = [&](Half half) {
    int64_t answered = 0;
    int64_t in_pool = 0;
    for (const auto& calls : calls_) {
      answered += calls[half].answered;
      in_pool += calls[half].in_pool_answered;
    }
    return Text(answered == 0 ? 0 : in_pool / answered, answered != 0);
  };
  char saved[64];
  WriteSaved(saved, sizeof(saved));
  PrintLine(
      "[%d]: hits %lld, misses %lld, parked %lld (%lld now), %s (create: HIP "
      "%s, pool %s; destroy: HIP %s, pool %s; HIP's shortest, the pool's "
      "mean)%s%s",
      pid, Long(stats.hits), Long(stats.misses), Long(stats.parked_total),
      Long(stats.parked_now), saved, hip_text(kCreate).c_str(),
      pool_text(kCreate).c_str(), hip_text(kDestroy).c_str(),
      pool_text(kDestroy).c_str(), StandsAside() ? "; disabled: " : "",
      WhyStandsAside());
}

int64_t Summary::Saved() const {
  int64_t most = INT64_MIN;
  for (const auto& calls : calls_) {
    int64_t saved = 0;
    for (Half half : {kCreate, kDestroy}) {
      if (IsTimed(half)) {
        saved += calls[half].answered * shortest_of_hip_[half];
      }
      saved -= calls[half].in_pool_answered + calls[half].in_pool_others;
    }
    if (saved != 0) most = std::max(most, saved);
  }
  return most;
}

void Summary::WriteSaved(char* text, size_t size) const {
  if (!IsTimed(kCreate) && !IsTimed(kDestroy)) {
    std::snprintf(text, size, "savings unknown (HIP not timed)");
    return;
  }
  const int64_t saved = Saved();
  std::snprintf(text, size,
                saved > 0 ? "saved at least %s" : "no savings shown",
                Text(saved).c_str());
}

}  // namespace hip_stream_pool
