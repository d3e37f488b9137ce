// SPDX-License-Identifier: Apache-2.0
//
// What a client's streams cost, raw and through the pool: creating them all and
// destroying them all, one stream after the other on one thread. And what a
// whole client costs: see client_cycle.h; a run on a caller's stream:
// external_stream.h; who has written a buffer: sequencing.h; the pool beside
// the HIP calls that it needs: floor.h; beside others: peers.h; and with
// threads: threads.h.
//
//   stream_benchmark [--table] [--quick] [--benchmark_...]
//
// --table prints tables with the medians instead of a line a benchmark. --quick
// does less of what has a fixed number of repetitions of its own. Exits
// with 1 if a benchmark failed: a HIP call, or a pool that did not do what the
// benchmark's name says.
//
// On the simulated GPU streams and whole clients are measured twice: with no
// cost added to what HIP itself takes, and with costs as in mi300x_costs.h.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "client.h"
#include "client_cycle.h"
#include "external_stream.h"
#include "floor.h"
#include "gpu/gpu_choice.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "meters.h"
#include "mi300x_costs.h"
#include "peers.h"
#include "sequencing.h"
#include "simulated_hsa/simulated_hsa.h"
#include "table.h"
#include "threads.h"

namespace hip_stream_pool {
namespace {

// The client that the MI300X figures are from.
constexpr int kDevices = 8;
constexpr int kStreamsPerDevice = 14;
constexpr int kAllStreams = kDevices * kStreamsPerDevice;

void Raw(benchmark::State& state, Client client, const DriverCosts& costs) {
  DriverMeter meter(costs.model);
  absl::Status status;
  meter.Start();
  for (auto _ : state) {
    status = client.Cycle(kRaw);
    if (!status.ok()) break;
  }
  meter.Stop();
  if (!status.ok()) return Fail(state, status.ToString());
  meter.Report(state);
  state.counters["per_stream"] = TimeOfEach(client.streams());
}

// The steady state: a client of the same kind was there before.
void Pooled(benchmark::State& state, Client client, const DriverCosts& costs) {
  absl::Status status = client.Cycle(kPooled);
  if (!status.ok()) return Fail(state, status.ToString());

  const StreamCacheStats before = StreamHandleCache::Get().GetStats();
  DriverMeter meter(costs.model);
  meter.Start();
  for (auto _ : state) {
    status = client.Cycle(kPooled);
    if (!status.ok()) break;
  }
  meter.Stop();
  const PoolWork work(before);

  // Other streams' number has an influence on the cost of the next benchmark's.
  status.Update(StreamHandleCache::Get().TrimAll());
  if (!status.ok()) return Fail(state, status.ToString());
  if (!work.Is(0, state.iterations() * client.streams())) {
    return Fail(state, "not every stream was reused: " + work.ToString());
  }
  meter.Report(state);
  state.counters["per_stream"] = TimeOfEach(client.streams());
}

// The first client of all: nothing is parked when it starts.
void PooledFirst(benchmark::State& state, Client client,
                 const DriverCosts& costs) {
  const StreamCacheStats before = StreamHandleCache::Get().GetStats();
  DriverMeter meter(costs.model);
  absl::Status status;
  for (auto _ : state) {
    meter.Start();
    const double time = Seconds([&] { status = client.Cycle(kPooled); });
    meter.Stop();
    state.SetIterationTime(time);
    status.Update(StreamHandleCache::Get().TrimAll());
    if (!status.ok()) break;
  }
  const PoolWork work(before);

  if (!status.ok()) return Fail(state, status.ToString());
  if (!work.Is(state.iterations() * client.streams(), 0)) {
    return Fail(state, "not every stream was new: " + work.ToString());
  }
  meter.Report(state);
  state.counters["per_stream"] = TimeOfEach(client.streams());
}

using Measure = void (*)(benchmark::State&, Client, const DriverCosts&);

// Returns the name that it registers.
std::string Register(const std::string& what, Measure measure, int streams,
                     int devices, const DriverCosts& costs) {
  const std::string name =
      absl::StrCat(what, "/streams:", streams, "/driver_costs:", costs.name);
  const std::string label =
      absl::StrCat("over ", devices, devices == 1 ? " device" : " devices",
                   costs.description.empty() ? "" : "; ", costs.description);
  auto* registered = benchmark::RegisterBenchmark(
      name.c_str(), [=, client = Client(streams, devices)](auto& state) {
        state.SetLabel(label);
        measure(state, client, costs);
      });
  registered->Unit(benchmark::kMicrosecond);
  if (measure == PooledFirst) {
    registered->UseManualTime();
  } else {
    registered->UseRealTime();
  }
  return name;
}

Table::Section RegisterAll(const DriverCosts& costs, int devices) {
  Table::Section section;
  section.title = costs.title;
  section.note = costs.description;
  section.headings = RawAndPooledHeadings("streams");
  std::string raw;
  std::string pooled;
  for (int streams : {1, kStreamsPerDevice, kAllStreams}) {
    const int over = streams == kAllStreams ? devices : 1;
    raw = Register("raw", Raw, streams, over, costs);
    pooled = Register("pooled", Pooled, streams, over, costs);
    section.rows.push_back(RawAndPooled(absl::StrCat(streams), raw, pooled));
  }
  using Cell = Table::Cell;
  section.headline = {
      Cell::Text("raw "),           Cell::Time(raw),  Cell::Text(", pooled "),
      Cell::Time(pooled),           Cell::Text(" ("), Cell::Times(raw, pooled),
      Cell::Text(")" + costs.where)};
  section.rows.push_back(RawAndPooled(
      absl::StrCat(kAllStreams, ", first client"), raw,
      Register("pooled_first", PooledFirst, kAllStreams, devices, costs)));
  return section;
}

// HIP takes a tenth of a second to make a device ready for its first stream.
absl::Status WarmUp(int devices) {
  absl::Status status = Client(kAllStreams, devices).Cycle(kRaw);
  status.Update(StreamHandleCache::Get().Trim(0));  // starts the pool
  return status;
}

absl::Status Run(bool as_table, bool quick) {
  int devices = 0;
  if (hipError_t error = hipGetDeviceCount(&devices);
      error != hipSuccess || devices == 0) {
    return absl::UnavailableError(absl::StrCat(
        "HIP has no device: hipGetDeviceCount: ", hipGetErrorName(error)));
  }
  const int all_devices = devices;
  devices = std::min(devices, kDevices);
  if (absl::Status status = WarmUp(devices); !status.ok()) return status;

  StreamHandleCache::Get().SetMaxParkedPerKey(kMostParked);

  std::vector<Table::Section> sections;
  DriverCosts costs;
  if (simulated_hsa::Control* gpu = simulated_hsa::Get()) {
    Client client(kAllStreams, devices);
    absl::StatusOr<DriverCosts> mi300x = FindMi300xCosts(*gpu, client);
    if (!mi300x.ok()) return mi300x.status();
    benchmark::AddCustomContext("driver_costs:mi300x", mi300x->description);
    sections.push_back(RegisterAll(*mi300x, devices));
    costs.name = "none";
    costs.title = "No driver costs: only what HIP itself takes";
    costs.description = "model: all 0";
    costs.where = " with none added";
  } else {
    costs.name = "real";
    costs.title = "On this GPU";
  }
  sections.push_back(RegisterAll(costs, devices));

  absl::StatusOr<std::vector<Table::Section>> cycles =
      RegisterClientCycles(devices, costs, quick);
  if (!cycles.ok()) return cycles.status();
  sections.insert(sections.end(), cycles->begin(), cycles->end());
  sections.push_back(RegisterExternalStream());
  sections.push_back(RegisterSequencing());

  for (const std::vector<Table::Section>& more :
       {RegisterFloor(), RegisterPeers(),
        RegisterThreads(all_devices, quick)}) {
    sections.insert(sections.end(), more.begin(), more.end());
  }

  // Without the simulation's model: it changes from benchmark to benchmark, and
  // each one's label has its own.
  std::string gpu = DescribeGpu();
  gpu.resize(std::min(gpu.find(" ("), gpu.size()));
  benchmark::AddCustomContext("gpu", gpu);
  if (!as_table) {
    benchmark::RunSpecifiedBenchmarks();
    return absl::OkStatus();
  }
  Table table(
      absl::StrCat("A client creates all its streams, then destroys them all; "
                   "one thread, median times.\n"
                   "raw: HIP's own calls. pooled: every client but the first. "
                   "1 and 14 streams are on one device, 112 on ",
                   devices,
                   ".\n"
                   "driver calls: memory, queues and signals that HIP asks the "
                   "driver for, or gives back.\nGPU: ",
                   gpu),
      absl::StrCat(gpu.substr(0, gpu.find(':')), " GPU: one client's ",
                   kAllStreams, " streams on ", devices,
                   devices == 1 ? " device" : " devices",
                   ", created + destroyed"),
      std::move(sections));
  benchmark::RunSpecifiedBenchmarks(&table);
  return absl::OkStatus();
}

}  // namespace
}  // namespace hip_stream_pool

int main(int argc, char** argv) {
  // As many devices as the MI300X figures are from, if they are simulated.
  setenv("SIMULATED_HSA_DEVICES", "8", /*overwrite=*/0);
  hip_stream_pool::ChooseGpu(argv);

  benchmark::Initialize(&argc, argv);
  bool as_table = false;
  bool quick = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--table") == 0) {
      as_table = true;
    } else if (std::strcmp(argv[i], "--quick") == 0) {
      quick = true;
    } else {
      std::fprintf(stderr, "usage: %s [--table] [--quick] [--benchmark_...]\n",
                   argv[0]);
      return 2;
    }
  }
  absl::Status status = hip_stream_pool::Run(as_table, quick);
  if (!status.ok()) {
    std::fprintf(stderr, "stream_benchmark: %s\n", status.ToString().c_str());
    return 1;
  }
  benchmark::Shutdown();
  return hip_stream_pool::AnyFailed() ? 1 : 0;
}
