// SPDX-License-Identifier: Apache-2.0
#include "threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "contender.h"
#include "executor/hip_status.h"
#include "hip/hip_runtime_api.h"
#include "meters.h"

namespace hip_stream_pool {
namespace {

constexpr int kThreads[] = {1, 2, 4, 8, 16};
// In all, whatever the number of threads: it makes a difference to HIP.
constexpr int kStreams = 16;
// Of this many turns, which are short, the second best counts: what else the
// machine has to do only takes away, and takes most turns if it is busy.
// Differences that last show in the best turns too.
constexpr std::chrono::milliseconds kSlice{4};
constexpr int kTurns = 12;
constexpr int kQuickTurns = 3;

struct Entry {
  const char* name;
  std::unique_ptr<Contender> (*make)();
};

template <std::unique_ptr<Peer> (*kMake)()>
std::unique_ptr<Contender> AsContender() {
  return kMake();
}

constexpr Entry kEntries[] = {
    {"bare", NewBareCalls},
    {"ours", AsContender<NewPool>},
    {"upstream", AsContender<NewUpstreamCache>},
    {"round_robin", AsContender<NewRoundRobinPool>},
    {"round_robin_query", AsContender<NewQueryingRoundRobinPool>},
    {"raw", AsContender<NewRawHip>},
};

// The cycles a second that so many threads get through together, on so many
// devices: the threads that there are too many of share.
absl::StatusOr<double> Slice(Contender& contender, int threads, int devices) {
  using Clock = std::chrono::steady_clock;
  struct alignas(64) Result {
    int64_t cycles = 0;
    absl::Status status;
  };
  std::vector<Result> results(threads);
  std::atomic<int> ready{0};
  std::atomic<bool> start{false};
  std::atomic<bool> stop{false};
  std::vector<std::thread> running;
  running.reserve(threads);
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      const int device = i % devices;
      const int at_once = contender.cycles_at_once();
      Result result;
      result.status = HipStatus("hipSetDevice", hipSetDevice(device));
      ++ready;
      while (!start) std::this_thread::yield();
      while (result.status.ok()) {
        result.status = contender.Cycle(device, at_once);
        if (stop.load(std::memory_order_relaxed)) break;  // not in time
        result.cycles += at_once;
      }
      results[i] = result;
    });
  }
  while (ready < threads) std::this_thread::yield();
  const Clock::time_point started = Clock::now();
  start = true;
  std::this_thread::sleep_for(kSlice);
  const std::chrono::duration<double> time = Clock::now() - started;
  stop = true;
  for (std::thread& thread : running) thread.join();
  double cycles = 0;
  for (const Result& result : results) {
    if (!result.status.ok()) return result.status;
    cycles += static_cast<double>(result.cycles);
  }
  return cycles / time.count();
}

double SecondBest(std::vector<double> rates) {
  std::sort(rates.rbegin(), rates.rend());
  return rates[1];
}

std::string Counter(const std::string& name, int threads) {
  return absl::StrCat(name, "/", threads);
}

// Every contender with every number of threads, by turns.
absl::Status MeasureAll(benchmark::State& state, int devices, int turns) {
  for (int threads : kThreads) {
    std::map<std::string, std::vector<double>> rates;
    for (int turn = 0; turn < turns; ++turn) {
      for (const Entry& entry : kEntries) {
        const std::unique_ptr<Contender> contender = entry.make();
        absl::Status status =
            contender->Start(devices, (kStreams + devices - 1) / devices);
        if (!status.ok()) return status;
        absl::StatusOr<double> rate = Slice(*contender, threads, devices);
        status.Update(contender->End());
        if (!rate.ok()) return rate.status();
        if (!status.ok()) return status;
        rates[entry.name].push_back(*rate);
      }
    }
    const auto rate = [&](const std::string& name) {
      return SecondBest(rates[name]);
    };
    for (const Entry& entry : kEntries) {
      if (rate(entry.name) == 0) {
        return absl::InternalError(absl::StrCat(entry.name, " did nothing"));
      }
      state.counters[Counter(entry.name, threads)] = rate(entry.name);
    }
    state.counters[Counter("of_bare", threads)] = rate("ours") / rate("bare");
    state.counters[Counter("of_one_thread", threads)] =
        rate("ours") / state.counters[Counter("ours", 1)];
  }
  return absl::OkStatus();
}

void AddSections(const std::string& where, const std::string& benchmark,
                 int devices, std::vector<Table::Section>& sections) {
  Table::Section peers;
  peers.title = absl::StrCat("Threads, ", where, ": cycles a second");
  peers.note = absl::StrCat(
      "a cycle creates a stream and destroys it; of all threads together; ",
      std::thread::hardware_concurrency(),
      " cores. See bench/README.md for what the peers leave out");
  peers.headings = {"threads",     "HIP's calls alone",   "ours",
                    "of HIP's",    "of 1 thread's",       "upstream cache",
                    "round robin", "round robin + query", "raw HIP"};
  for (int threads : kThreads) {
    const auto cell = [&](const std::string& name, Table::Unit unit) {
      return Table::Cell::Of(benchmark, Counter(name, threads), unit);
    };
    const auto rate = [&](const std::string& name) {
      return cell(name, Table::Unit::kMillions);
    };
    const Table::Cell count = Table::Cell::Text(
        devices == 1 || threads <= devices
            ? absl::StrCat(threads)
            : absl::StrCat(threads, " on ", devices, " devices"));
    peers.rows.push_back({count, rate("bare"), rate("ours"),
                          cell("of_bare", Table::Unit::kRatio),
                          cell("of_one_thread", Table::Unit::kRatio),
                          rate("upstream"), rate("round_robin"),
                          rate("round_robin_query"), rate("raw")});
  }
  sections.push_back(std::move(peers));
}

}  // namespace

std::vector<Table::Section> RegisterThreads(int devices, bool quick) {
  std::vector<Table::Section> sections;
  const auto add = [&](const std::string& where, const std::string& name,
                       int used) {
    const std::string benchmark = "threads/" + name;
    benchmark::RegisterBenchmark(
        benchmark.c_str(),
        [=](benchmark::State& state) {
          for (auto _ : state) {
            absl::Status status =
                MeasureAll(state, used, quick ? kQuickTurns : kTurns);
            if (!status.ok()) {
              Fail(state, status.ToString());
              break;
            }
          }
        })
        ->UseRealTime()
        ->Iterations(1)
        ->Repetitions(1)  // it has its turns
        ->Unit(benchmark::kMillisecond);
    AddSections(where, benchmark, used, sections);
  };
  add("all on one device", "one_device", 1);
  if (devices > 1) {
    add("each on a device of its own", "own_device",
        std::min(devices, kStreams));
  }
  return sections;
}

}  // namespace hip_stream_pool
