// SPDX-License-Identifier: Apache-2.0
#include "preload/summary.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "devices.h"
#include "preload/environment.h"
#include "preload/next_definition.h"
#include "preload/real_hip.h"

namespace hip_stream_pool {
namespace {

long long Integer(int64_t value) { return value; }  // NOLINT: for printf

std::string Text(double seconds) {
  const double size = std::fabs(seconds);
  char text[32];
  if (size < 1e-3) {
    std::snprintf(text, sizeof(text), "%.1f us", seconds * 1e6);
  } else if (size < 1) {
    std::snprintf(text, sizeof(text), "%.1f ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof(text), "%.2f s", seconds);
  }
  return text;
}

int pid_at_load = 0;

void PrintSummary() { Summary::Get().Print(); }

// When this library is loaded: handlers that were added early run late.
__attribute__((constructor)) void ArrangeSummary() {
  if (!IsSummaryWanted()) return;
  pid_at_load = getpid();
  std::atexit(PrintSummary);
  at_quick_exit(PrintSummary);
}

}  // namespace

Stopwatch::Stopwatch() {
  if (IsSummaryWanted()) start_ = std::chrono::steady_clock::now();
}

std::chrono::nanoseconds Stopwatch::Elapsed() const {
  return std::chrono::steady_clock::now() - start_;
}

void Summary::Times::Add(std::chrono::nanoseconds time) {
  nanoseconds_[count_++ % kKept] = time.count();
}

double Summary::Times::MedianSeconds() const {
  const int64_t kept = std::min(count(), kKept);
  if (kept == 0) return 0;
  std::vector<int64_t> sorted(nanoseconds_, nanoseconds_ + kept);
  const auto middle = sorted.begin() + (kept - 1) / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  return static_cast<double>(*middle) / 1e9;
}

Summary& Summary::Get() {
  static Summary summary;
  return summary;
}

void Summary::Add(Event event, const Stopwatch& stopwatch) {
  if (!IsSummaryWanted()) return;
  const auto time = stopwatch.Elapsed();
  if (pid_.load(std::memory_order_relaxed) == 0) pid_ = getpid();
  // The first creation starts much of HIP up.
  if (event == kMiss && !had_a_miss_.exchange(true)) return;
  times_[event].Add(time);
}

void Summary::Print() {
  const int pid = getpid();
  const bool used = pid_ != 0;
  if (pid != (used ? pid_.load() : pid_at_load)) return;  // a forked child
  if (printed_.exchange(true)) return;
  if (!used) {
    // Most programs that a preloaded shell starts have no HIP at all.
    if (CountHips() == 0) return;
    std::fprintf(stderr, "hip-stream-pool[%d]: hits 0, misses 0: %s\n", pid,
                 !IsSwitchedOn() ? "switched off"
                 : StandsAside() ? "stands aside"
                                 : "HIP is loaded, but no stream was created "
                                   "through this library");
    return;
  }
  const StreamCacheStats stats = ReadStats();
  const Times& hit = times_[kHit];
  const Times& miss = times_[kMiss];
  const Times& parked = times_[kParked];
  const Times& destroyed = times_[kDestroyed];
  // What was saved where HIP was not seen to do the same is not known. A stream
  // that was parked after a wait is not among these: HIP would have waited too.
  double saved = 0;
  bool some_known = false;
  bool all_known = true;
  const auto add = [&](const Times& pool, const Times& hip) {
    const bool known = hip.count() != 0;
    all_known &= known || pool.count() == 0;
    if (!known) return;
    some_known = true;
    saved += static_cast<double>(pool.count()) *
             (hip.MedianSeconds() - pool.MedianSeconds());
  };
  add(hit, miss);
  add(parked, destroyed);
  const std::string saved_text =
      some_known ? (all_known ? "" : "at least ") + Text(saved)
                 : "a time that is not known";
  const auto text = [](const Times& times) {
    return times.count() == 0 ? "not measured" : Text(times.MedianSeconds());
  };
  std::fprintf(stderr,
               "hip-stream-pool[%d]: hits %lld, misses %lld, parked %lld (%lld "
               "now), saved %s (create: HIP %s, pool %s; destroy: HIP %s, pool "
               "%s; medians of this process)%s\n",
               pid, Integer(stats.hits), Integer(stats.misses),
               Integer(stats.parked_total), Integer(stats.parked_now),
               saved_text.c_str(), text(miss).c_str(), text(hit).c_str(),
               text(destroyed).c_str(), text(parked).c_str(),
               StandsAside() ? "; stands aside by now" : "");
}

}  // namespace hip_stream_pool
