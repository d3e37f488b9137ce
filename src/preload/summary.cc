// SPDX-License-Identifier: Apache-2.0
#include "preload/summary.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "devices.h"
#include "preload/environment.h"
#include "preload/stderr_line.h"

namespace hip_stream_pool {

Summary summary;

namespace {

int64_t Now() {
  return std::chrono::nanoseconds(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Of this thread, in the calls that are timed.
thread_local int64_t nanoseconds_in_hip = 0;

decltype(&hipStreamCreateWithPriority) timed_create = nullptr;
decltype(&hipStreamDestroy) timed_destroy = nullptr;
decltype(&hipGetDevice) get_device = nullptr;

hipError_t TimedCreate(hipStream_t* stream, unsigned int flags, int priority) {
  int device = -1;
  (void)get_device(&device);  // the pool has just set it
  const Summary::Start start = summary.BeginCreation(device);
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

void PrintSummary() { summary.Print(); }

// When this library is loaded: handlers that were added early run late.
__attribute__((constructor)) void ArrangeSummary() {
  if (!IsSummaryWanted()) return;
  pid_at_load = getpid();
  std::atexit(PrintSummary);
  at_quick_exit(PrintSummary);
}

}  // namespace

void TimeCallsForSummary(RealHip& hip) {
  if (!IsSummaryWanted()) return;
  timed_create = hip.hipStreamCreateWithPriority;
  timed_destroy = hip.hipStreamDestroy;
  get_device = hip.hipGetDevice;
  hip.hipStreamCreateWithPriority = TimedCreate;
  hip.hipStreamDestroy = TimedDestroy;
}

Stopwatch::Stopwatch() {
  if (IsSummaryWanted()) start_ = Now() - nanoseconds_in_hip;
}

int64_t Stopwatch::InPool() const {
  return Now() - nanoseconds_in_hip - start_;
}

void Summary::Times::AddHips(int64_t nanoseconds) {
  int64_t shortest = shortest_of_hip;
  while (nanoseconds < shortest &&
         !shortest_of_hip.compare_exchange_weak(shortest, nanoseconds)) {
  }
}

int64_t Summary::Times::Saved() const {
  const int64_t hips = IsHipTimed() ? answered * shortest_of_hip : 0;
  return hips - in_pool_answered - in_pool_others;
}

void Summary::Add(Half half, bool answered, const Stopwatch& stopwatch) {
  if (!IsSummaryWanted()) return;
  const int64_t in_pool = stopwatch.InPool();
  if (pid_.load(std::memory_order_relaxed) == 0) pid_ = getpid();
  Times& times = times_[half];
  (answered ? times.in_pool_answered : times.in_pool_others) += in_pool;
  if (answered) ++times.answered;
}

Summary::Start Summary::BeginCreation(int device) {
  Start start;
  start.device = device;
  start.is_startup =
      device < 0 || device >= kMostDevices || !is_started_[device];
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
  } else if (succeeded && start.is_alone &&
             start.startups_begun == startups_begun_) {
    times_[kCreate].AddHips(nanoseconds);
  }
}

void Summary::AddDestroy(int64_t nanoseconds) {
  times_[kDestroy].AddHips(nanoseconds);
}

void Summary::NoteReset(int device) {
  if (device >= 0 && device < kMostDevices) is_started_[device] = false;
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
  const StreamCacheStats stats = ReadStats();
  const auto hip_text = [](const Times& times) {
    return Text(times.shortest_of_hip, times.IsHipTimed());
  };
  const auto pool_text = [](const Times& times) {
    const int64_t count = times.answered;
    return Text(count == 0 ? 0 : times.in_pool_answered / count, count != 0);
  };
  const Times& create = times_[kCreate];
  const Times& destroy = times_[kDestroy];
  char saved[64] = "savings unknown (HIP not timed)";
  const int64_t least = create.Saved() + destroy.Saved();
  if (create.answered == 0 && destroy.answered == 0) {
    std::snprintf(saved, sizeof(saved), "nothing saved");
  } else if (create.IsHipTimed() || destroy.IsHipTimed()) {
    std::snprintf(saved, sizeof(saved),
                  least > 0 ? "saved at least %s"
                            : "savings unknown (HIP's calls are as quick)",
                  Text(least).c_str());
  }
  PrintLine(
      "[%d]: hits %lld, misses %lld, parked %lld (%lld now), %s (create: HIP "
      "%s, pool %s; destroy: HIP %s, pool %s; HIP's shortest, the pool's "
      "mean)%s%s",
      pid, Long(stats.hits), Long(stats.misses), Long(stats.parked_total),
      Long(stats.parked_now), saved, hip_text(create).c_str(),
      pool_text(create).c_str(), hip_text(destroy).c_str(),
      pool_text(destroy).c_str(), StandsAside() ? "; disabled: " : "",
      WhyStandsAside());
}

}  // namespace hip_stream_pool
