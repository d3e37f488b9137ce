// SPDX-License-Identifier: Apache-2.0
#include "peers.h"

#include <array>
#include <cstdint>
#include <memory>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bare_calls.h"
#include "benchmark/benchmark.h"
#include "contender.h"
#include "executor/hip_status.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "hip_stream_pool/worker_thread.h"
#include "meters.h"
#include "simulated_hsa/simulated_hsa.h"
#include "statistics.h"

namespace hip_stream_pool {
namespace {

constexpr char kBenchmark[] = "peers";
constexpr char kYes[] = "yes";
constexpr char kNo[] = "no";
// Those that a peer has when it is measured.
constexpr int kStreams = 16;
constexpr int kWarmUp = 4;
constexpr int kTurns = 50;

// What a peer gives its users. The first three are tried out in each run; the
// others say what its calls do.
struct Guarantees {
  const char* exclusive;    // no stream has two users
  const char* keeps_order;  // the next client has the streams in the same order
  const char* bounded;      // there is a limit to what it keeps
  const char* validated;    // when HIP is asked whether the stream is fit
  const char* capture_safe;  // a capture is neither parked nor disturbed
  int hip_calls;             // in a cycle
};

struct Entry {
  const char* name;     // in the table
  const char* counter;  // its seconds a cycle
  std::unique_ptr<Peer> (*make)();
  int block;  // cycles a turn
  Guarantees guarantees;
};

constexpr int kOfThisHip = -1;  // see bare_calls.h

constexpr Entry kEntries[] = {
    {"raw HIP", "raw", NewRawHip, 4, {kYes, "new ones", kYes, "new", "-", 4}},
    {"this pool",
     "ours",
     NewPool,
     64,
     {kYes, kYes, kYes, "both times", kYes, kOfThisHip}},
    {"upstream cache",
     "upstream",
     NewUpstreamCache,
     64,
     {kYes, kNo, kNo, "when parked", kNo, 3}},
    {"round robin",
     "round_robin",
     NewRoundRobinPool,
     64,
     {kNo, kNo, kYes, kNo, kNo, 0}},
    {"round robin + query",
     "round_robin_query",
     NewQueryingRoundRobinPool,
     64,
     {kNo, kNo, kYes, "idle only", kNo, 1}},
};

absl::StatusOr<std::vector<hipStream_t>> CreateSome(Peer& peer, int count) {
  std::vector<hipStream_t> streams;
  for (int i = 0; i < count; ++i) {
    absl::StatusOr<hipStream_t> stream = peer.Create({});
    if (!stream.ok()) return stream.status();
    streams.push_back(*stream);
  }
  return streams;
}

absl::Status DestroyAll(Peer& peer, const std::vector<hipStream_t>& streams) {
  absl::Status status;
  for (hipStream_t stream : streams) status.Update(peer.Destroy(0, stream));
  return status;
}

// OK if what the table says is what the peer does.
absl::Status TryOut(const Entry& entry) {
  constexpr int kLimit = 32;
  StreamHandleCache::Get().SetMaxParkedPerKey(kLimit);
  const std::unique_ptr<Peer> peer = entry.make();
  absl::Status status = peer->Start(/*devices=*/1, kStreams);
  if (!status.ok()) return status;
  absl::StatusOr<std::vector<hipStream_t>> few = CreateSome(*peer, 5);
  if (!few.ok()) return few.status();
  status.Update(DestroyAll(*peer, *few));
  absl::StatusOr<std::vector<hipStream_t>> again = CreateSome(*peer, 5);
  if (!again.ok()) return again.status();
  status.Update(DestroyAll(*peer, *again));
  const bool keeps_order = *few == *again;

  absl::StatusOr<std::vector<hipStream_t>> many = CreateSome(*peer, kLimit + 5);
  if (!many.ok()) return many.status();
  const std::set<hipStream_t> different(many->begin(), many->end());
  const bool exclusive = different.size() == many->size();
  status.Update(DestroyAll(*peer, *many));
  const bool bounded = peer->kept() <= kLimit;
  // What is kept is destroyed; that it is more than at the start is known.
  (void)peer->End();
  StreamHandleCache::Get().SetMaxParkedPerKey(kMostParked);

  const auto is_told = [](const char* told, bool seen) {
    return told == (seen ? kYes : kNo) || (told != kYes && told != kNo);
  };
  if (status.ok() && !(is_told(entry.guarantees.exclusive, exclusive) &&
                       is_told(entry.guarantees.keeps_order, keeps_order) &&
                       is_told(entry.guarantees.bounded, bounded))) {
    status = absl::InternalError(absl::StrCat(
        entry.name, " is not what the table says: exclusive ", exclusive,
        ", keeps the order ", keeps_order, ", bounded ", bounded));
  }
  return status;
}

struct Tally {
  std::vector<double> seconds;  // a cycle, each turn
  int64_t cycles = 0;
  int64_t driver_calls = 0;
};

absl::Status Turn(const Entry& entry, Tally& tally) {
  const std::unique_ptr<Peer> peer = entry.make();
  absl::Status status = peer->Start(/*devices=*/1, kStreams);
  if (status.ok()) status = peer->Cycle(/*device=*/0, kWarmUp);
  if (!status.ok()) return status;
  const int64_t before = DriverCalls();
  const double seconds =
      Seconds([&] { status = peer->Cycle(/*device=*/0, entry.block); });
  tally.driver_calls += DriverCalls() - before;
  tally.seconds.push_back(seconds / entry.block);
  tally.cycles += entry.block;
  status.Update(peer->End());
  return status;
}

void Measure(benchmark::State& state) {
  WorkerThread another("another");  // as in floor.cc
  absl::Status status = HipStatus("hipSetDevice", hipSetDevice(0));
  for (const Entry& entry : kEntries) status.Update(TryOut(entry));
  std::array<Tally, std::size(kEntries)> tallies;
  for (auto _ : state) {
    for (size_t i = 0; i < tallies.size(); ++i) {
      status.Update(Turn(kEntries[i], tallies[i]));
    }
    if (!status.ok()) break;
  }
  if (!status.ok()) return Fail(state, status.ToString());

  for (size_t i = 0; i < tallies.size(); ++i) {
    const Entry& entry = kEntries[i];
    state.counters[entry.counter] = Median(tallies[i].seconds);
    if (simulated_hsa::Get() == nullptr) continue;
    const bool is_raw = entry.make == NewRawHip;
    if (is_raw != (tallies[i].driver_calls > 0)) {
      return Fail(state, absl::StrCat(entry.name, ": ", tallies[i].driver_calls,
                                      " driver calls"));
    }
    state.counters[absl::StrCat(entry.counter, "_", kDriverCalls)] =
        static_cast<double>(tallies[i].driver_calls) /
        static_cast<double>(tallies[i].cycles);
  }
}

}  // namespace

std::vector<Table::Section> RegisterPeers() {
  benchmark::RegisterBenchmark(kBenchmark, Measure)
      ->UseRealTime()
      ->Iterations(kTurns);
  Table::Section section;
  section.title = "The same work done by peers: a stream, and its return";
  section.note =
      "models from published descriptions, see bench/peers/; one thread, by "
      "turns. owner, order and bounded are tried out in each run";
  section.headings = {"",          "a cycle",   "driver calls",
                      "HIP calls", "one owner", "same order",
                      "bounded",   "validated", "capture-safe"};
  for (const Entry& entry : kEntries) {
    using Cell = Table::Cell;
    const Guarantees& has = entry.guarantees;
    section.rows.push_back(
        {Cell::Text(entry.name), Cell::Time(kBenchmark, entry.counter),
         Cell::Of(kBenchmark, absl::StrCat(entry.counter, "_", kDriverCalls),
                  Table::Unit::kNumber),
         Cell::Text(absl::StrCat(has.hip_calls == kOfThisHip
                                     ? BareCallsOfACycle()
                                     : has.hip_calls)),
         Cell::Text(has.exclusive), Cell::Text(has.keeps_order),
         Cell::Text(has.bounded), Cell::Text(has.validated),
         Cell::Text(has.capture_safe)});
  }
  return {section};
}

}  // namespace hip_stream_pool
