// SPDX-License-Identifier: Apache-2.0
#include "client_cycle.h"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "client.h"
#include "executor/event_pool.h"
#include "executor/executor.h"
#include "executor/hip_status.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "hip_stream_pool/worker_thread.h"
#include "meters.h"
#include "mi300x_costs.h"
#include "simulated_hsa/simulated_hsa.h"

namespace hip_stream_pool {
namespace {

// Raw, a cycle takes so long that there is no time for as many.
constexpr int kSoakCycles = 4500;
constexpr int kRawSoakCycles = 500;

std::vector<StreamKey> KeysOfAllDevices(int devices) {
  std::vector<StreamKey> keys;
  for (int device = 0; device < devices; ++device) {
    const std::vector<StreamKey> of_device = StreamKeys(device, kMeasuredRoles);
    keys.insert(keys.end(), of_device.begin(), of_device.end());
  }
  return keys;
}

// The executor of tests/executor, in phases and with either way to streams.
class CycledClient {
 public:
  CycledClient(int devices, const StreamCalls& calls)
      : calls_(calls), streams_(KeysOfAllDevices(devices)), rest_(devices) {}

  int streams() const { return streams_.streams(); }

  absl::Status CreateStreams() { return streams_.CreateAll(calls_); }

  // A worker for each device, and an event in flight on each stream.
  absl::Status CreateRest() {
    for (auto& rest : rest_) rest = std::make_unique<Rest>();
    for (int i = 0; i < streams_.streams(); ++i) {
      const int device = streams_.key(i).device_ordinal;
      absl::Status status = HipStatus("hipSetDevice", hipSetDevice(device));
      if (!status.ok()) return status;
      absl::StatusOr<hipEvent_t> event = rest_[device]->events.Take();
      if (!event.ok()) return event.status();
      rest_[device]->in_flight.push_back(*event);
      status = HipStatus("hipEventRecord",
                         hipEventRecord(*event, streams_.stream(i)));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // As Executor::Close.
  absl::Status DestroyRest() {
    absl::Status status;
    const int devices = static_cast<int>(rest_.size());
    for (int device = 0; device < devices; ++device) {
      status.Update(HipStatus("hipSetDevice", hipSetDevice(device)));
      status.Update(HipStatus("hipDeviceSynchronize", hipDeviceSynchronize()));
    }
    for (auto& rest : rest_) status.Update(rest->worker.Drain());
    for (auto& rest : rest_) {
      for (hipEvent_t event : rest->in_flight) rest->events.GiveBack(event);
      status.Update(rest->events.Clear());
      rest.reset();
    }
    return status;
  }

  absl::Status DestroyStreams() { return streams_.DestroyAll(calls_); }

 private:
  struct Rest {
    EventPool events;
    std::vector<hipEvent_t> in_flight;
    WorkerThread worker{"callbacks"};
  };

  const StreamCalls& calls_;
  Client streams_;
  std::vector<std::unique_ptr<Rest>> rest_;
};

// As the report on the MI300X has them.
struct Phase {
  const char* name;
  absl::Status (CycledClient::*run)();
};
constexpr Phase kPhases[] = {
    {"create streams", &CycledClient::CreateStreams},
    {"create the rest", &CycledClient::CreateRest},
    {"destroy the rest", &CycledClient::DestroyRest},
    {"destroy streams", &CycledClient::DestroyStreams},
};

absl::Status Cycle(CycledClient& client) {
  for (const Phase& phase : kPhases) {
    absl::Status status = (client.*phase.run)();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Checks that all of a pooled client's streams were reused, and that a raw one
// left the pool alone; and empties the pool for the next benchmark.
absl::Status Finish(const benchmark::State& state, const CycledClient& client,
                    const StreamCalls& calls, const StreamCacheStats& before) {
  const PoolWork work(before);
  const int64_t hits =
      &calls == &kPooled ? state.iterations() * client.streams() : 0;
  absl::Status status = StreamHandleCache::Get().TrimAll();
  if (status.ok() && !work.Is(0, hits)) {
    status = absl::InternalError(
        absl::StrCat("not ", hits, " hits: ", work.ToString()));
  }
  return status;
}

void RunPhases(benchmark::State& state, int devices, const StreamCalls& calls,
               const DriverCosts& costs) {
  CycledClient client(devices, calls);
  // A client of the same kind was there before.
  absl::Status status = Cycle(client);
  const StreamCacheStats before = StreamHandleCache::Get().GetStats();
  std::vector<DriverMeter> meters(std::size(kPhases), DriverMeter(costs.model));
  DriverMeter meter_of_all(costs.model);
  std::array<double, std::size(kPhases)> seconds = {};
  meter_of_all.Start();
  for (auto _ : state) {
    double all = 0;
    for (size_t i = 0; i < std::size(kPhases) && status.ok(); ++i) {
      meters[i].Start();
      const double time = Seconds([&] { status = (client.*kPhases[i].run)(); });
      meters[i].Stop();
      seconds[i] += time;
      all += time;
    }
    if (!status.ok()) break;
    state.SetIterationTime(all);
  }
  meter_of_all.Stop();
  if (status.ok()) status = Finish(state, client, calls, before);
  if (!status.ok()) return Fail(state, status.ToString());
  meter_of_all.Report(state);
  for (size_t i = 0; i < std::size(kPhases); ++i) {
    state.counters[kPhases[i].name] = {seconds[i],
                                       benchmark::Counter::kAvgIterations};
    meters[i].Report(state, kPhases[i].name);
  }
}

// The process's memory that is in RAM.
double ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  file >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// What is there after a cycle. HIP itself has more to take after the first: 5.7
// touches memory of its streams for the first time, 6.4 gives them signals as
// they are used, up to a number. And 5.2 and 5.7 lose a signal with each stream
// that they destroy.
struct Level {
  simulated_hsa::Counters driver;
  double resident_bytes = ResidentBytes();
};

Level ReadLevel() {
  Level level;
  if (simulated_hsa::Control* gpu = simulated_hsa::Get()) {
    level.driver = gpu->ReadCounters();
  }
  return level;
}

void Soak(benchmark::State& state, int devices, const StreamCalls& calls) {
  CycledClient client(devices, calls);
  absl::Status status = Cycle(client);
  const StreamCacheStats before = StreamHandleCache::Get().GetStats();
  const Level first = ReadLevel();
  for (auto _ : state) {
    status = Cycle(client);
    if (!status.ok()) break;
  }
  const Level last = ReadLevel();
  if (status.ok()) status = Finish(state, client, calls, before);
  if (!status.ok()) return Fail(state, status.ToString());

  const auto cycles = static_cast<double>(state.iterations());
  state.counters["cycles"] = cycles;
  state.counters["cycles_per_second"] = {cycles, benchmark::Counter::kIsRate};
  state.counters["resident_kib"] =
      (last.resident_bytes - first.resident_bytes) / 1024;
  if (simulated_hsa::Get() == nullptr) return;
  state.counters[kDriverCalls] = static_cast<double>(
      last.driver.driver_calls() - first.driver.driver_calls());
  state.counters["bytes"] =
      static_cast<double>(last.driver.live_bytes - first.driver.live_bytes);
  state.counters["signals"] = static_cast<double>(last.driver.live_signals() -
                                                  first.driver.live_signals());
}

absl::Status SynchronizeDevice(void*) {
  return HipStatus("hipDeviceSynchronize", hipDeviceSynchronize());
}

absl::Status UseNullStream(void* memory) {
  absl::Status status = HipStatus(
      "hipMemsetAsync", hipMemsetAsync(memory, 1, /*size=*/64, nullptr));
  status.Update(
      HipStatus("hipStreamSynchronize", hipStreamSynchronize(nullptr)));
  return status;
}

// `call` on a device that has so many parked streams.
void BesideParked(benchmark::State& state, int parked,
                  absl::Status (*call)(void*)) {
  StreamHandleCache& pool = StreamHandleCache::Get();
  void* memory = nullptr;
  absl::Status status = HipStatus("hipSetDevice", hipSetDevice(0));
  status.Update(HipStatus("hipMalloc", hipMalloc(&memory, 64)));
  status.Update(pool.Prewarm(std::vector<StreamKey>(parked)));
  if (status.ok() && pool.GetStats().parked_now != parked) {
    status = absl::InternalError(
        absl::StrCat(pool.GetStats().parked_now, " streams are parked"));
  }
  for (auto _ : state) {
    if (status.ok()) status = call(memory);
    if (!status.ok()) break;
  }
  status.Update(pool.TrimAll());
  status.Update(HipStatus("hipFree", hipFree(memory)));
  if (!status.ok()) Fail(state, status.ToString());
}

template <typename Function>
benchmark::internal::Benchmark* Register(const std::string& name,
                                         Function function) {
  return benchmark::RegisterBenchmark(name.c_str(), function)
      ->Unit(benchmark::kMicrosecond);
}

Table::Section RegisterPhases(int devices, const DriverCosts& costs) {
  Table::Section section;
  section.title = absl::StrCat("The whole of a client. ", costs.title);
  section.note = costs.description;
  section.headings = RawAndPooledHeadings("phase");
  const auto add = [&](const std::string& what, const StreamCalls& calls) {
    std::string name = absl::StrCat(what, "/driver_costs:", costs.name);
    Register(name, [=, &calls](benchmark::State& state) {
      RunPhases(state, devices, calls, costs);
    })->UseManualTime();
    return name;
  };
  const std::string raw = add("client_cycle_raw", kRaw);
  const std::string pooled = add("client_cycle_pooled", kPooled);
  for (const Phase& phase : kPhases) {
    section.rows.push_back(RawAndPooled(phase.name, raw, pooled, phase.name));
  }
  section.rows.push_back(RawAndPooled("whole client", raw, pooled));
  return section;
}

Table::Section RegisterSoak(int devices, bool quick) {
  const auto add = [devices](const std::string& name, const StreamCalls& calls,
                             int cycles) {
    Register(name,
             [devices, &calls](benchmark::State& state) {
               Soak(state, devices, calls);
             })
        ->UseRealTime()
        ->Iterations(cycles)
        ->Repetitions(1);
  };
  add("soak_raw", kRaw, quick ? kRawSoakCycles / 10 : kRawSoakCycles);
  add("soak_pooled", kPooled, quick ? kSoakCycles / 10 : kSoakCycles);
  Table::Section section;
  section.title = "Whole clients one after the other. No driver costs";
  section.note =
      "what comes after the first client has gone; HIP 5 loses a signal with "
      "each stream that it destroys";
  section.headings = {"", "raw", "pooled"};
  const auto add_row = [&section](const char* name, const char* counter) {
    using Cell = Table::Cell;
    section.rows.push_back(
        {Cell::Text(name), Cell::Of("soak_raw", counter, Table::Unit::kNumber),
         Cell::Of("soak_pooled", counter, Table::Unit::kNumber)});
  };
  add_row("clients", "cycles");
  add_row("clients a second", "cycles_per_second");
  add_row("driver calls", kDriverCalls);
  add_row("memory of HIP, bytes more", "bytes");
  add_row("HSA signals more", "signals");
  add_row("resident memory, KiB more", "resident_kib");
  return section;
}

Table::Section RegisterBesideParked() {
  Table::Section section;
  section.title = "Beside parked streams of the same device. No driver costs";
  section.headings = {"parked", "hipDeviceSynchronize",
                      "null-stream memset and wait"};
  for (int parked : {0, 16, 128, kMostParked}) {
    const auto add = [parked](const std::string& what,
                              absl::Status (*call)(void*)) {
      std::string name = absl::StrCat(what, "/parked:", parked);
      Register(name, [=](benchmark::State& state) {
        BesideParked(state, parked, call);
      })->UseRealTime();
      return Table::Cell::Time(name);
    };
    section.rows.push_back({Table::Cell::Text(absl::StrCat(parked)),
                            add("device_synchronize", SynchronizeDevice),
                            add("null_stream", UseNullStream)});
  }
  return section;
}

}  // namespace

absl::StatusOr<std::vector<Table::Section>> RegisterClientCycles(
    int devices, const DriverCosts& no_costs, bool quick) {
  std::vector<Table::Section> sections;
  if (simulated_hsa::Control* gpu = simulated_hsa::Get()) {
    Client client(KeysOfAllDevices(devices));
    absl::StatusOr<DriverCosts> mi300x = FindMi300xCosts(*gpu, client);
    if (!mi300x.ok()) return mi300x.status();
    sections.push_back(RegisterPhases(devices, *mi300x));
  }
  sections.push_back(RegisterPhases(devices, no_costs));
  sections.push_back(RegisterSoak(devices, quick));
  sections.push_back(RegisterBesideParked());
  return sections;
}

}  // namespace hip_stream_pool
