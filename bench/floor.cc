// SPDX-License-Identifier: Apache-2.0
#include "floor.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "allocations.h"
#include "bare_calls.h"
#include "benchmark/benchmark.h"
#include "client.h"
#include "executor/hip_status.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/create_stream.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "hip_stream_pool/worker_thread.h"
#include "meters.h"
#include "pool/handle_store.h"
#include "statistics.h"

namespace hip_stream_pool {
namespace {

// Enough for a median, and no more: the streams take long to create.
int Turns(size_t streams) { return streams > 16 ? 200 : 2000; }
// Some 10 us: short enough that most blocks are left in peace.
constexpr int kBlock = 16;

// One turn, in seconds for each stream that was created and destroyed.
struct Turn {
  double bare = 0;  // HIP's calls
  double hit = 0;   // CreateStream
  double park = 0;  // DestroyStream
  double bare_hit = 0;
  double bare_park = 0;

  int64_t allocations = 0;       // of ours
  int64_t bare_allocations = 0;  // of the bare calls

  double ours() const { return hit + park; }
};

class Work {
 public:
  virtual ~Work() = default;
  virtual absl::Status Start() { return absl::OkStatus(); }
  virtual absl::Status Take(Turn& turn) = 0;
  virtual int streams_a_turn() const = 0;
};

// As Seconds, and adds to `allocations` how often memory was allocated.
template <typename Function>
double CountedSeconds(int64_t& allocations, const Function& function) {
  const int64_t before = AllocationsOfThisThread();
  const double seconds = Seconds(function);
  allocations += AllocationsOfThisThread() - before;
  return seconds;
}

// Creates a stream and destroys it, again and again, a stream of each key by
// turns. It is the same stream every time, and the bare calls are made of it
// too: they take longer for some streams than for others.
class OneAtATime : public Work {
 public:
  explicit OneAtATime(std::vector<StreamKey> keys) : leased_(std::move(keys)) {}

  absl::Status Start() override { return leased_.Cycle(kPooled); }
  int streams_a_turn() const override { return kBlock; }

  absl::Status Take(Turn& turn) override {
    bool ok = true;
    turn.bare = CountedSeconds(turn.bare_allocations, [&] { ok &= Bare(); });
    if (!ok) return BareCallFailed();
    absl::Status status;
    turn.hit = CountedSeconds(turn.allocations, [&] {
      for (int i = 0; i < kBlock && status.ok(); ++i) {
        absl::StatusOr<hipStream_t> stream =
            CreateStream(leased_.key(i % leased_.streams()));
        status = stream.ok() ? DestroyStream(0, *stream) : stream.status();
      }
    });
    turn.bare /= kBlock;
    turn.hit /= kBlock;
    return status;
  }

 private:
  bool Bare() {
    bool ok = true;
    for (int i = 0; i < kBlock; ++i) {
      hipStream_t stream = leased_.stream(i % leased_.streams());
      ok &= BareHit(stream, leased_.key(i % leased_.streams()).flags);
      ok &= BarePark(stream);
    }
    return ok;
  }

  Client leased_;
};

// A client with so many streams: creates all of them, then destroys all, the
// first first or the last first. In between, the bare calls of each.
class Together : public Work {
 public:
  Together(int streams, bool last_first)
      : streams_(streams), last_first_(last_first) {}

  int streams_a_turn() const override {
    return static_cast<int>(streams_.size());
  }

  absl::Status Take(Turn& turn) override {
    absl::Status status;
    turn.hit = CountedSeconds(turn.allocations, [&] {
      for (hipStream_t& stream : streams_) {
        absl::StatusOr<hipStream_t> created = CreateStream({});
        if (!created.ok()) {
          status = created.status();
          return;
        }
        stream = *created;
      }
    });
    if (!status.ok()) return status;
    bool ok = true;
    turn.bare_hit = CountedSeconds(turn.bare_allocations, [&] {
      for (hipStream_t stream : streams_) ok &= BareHit(stream, 0);
    });
    turn.bare_park = CountedSeconds(turn.bare_allocations, [&] {
      for (hipStream_t stream : streams_) ok &= BarePark(stream);
    });
    turn.bare = turn.bare_hit + turn.bare_park;
    if (!ok) return BareCallFailed();
    if (last_first_) std::reverse(streams_.begin(), streams_.end());
    turn.park = CountedSeconds(turn.allocations, [&] {
      for (hipStream_t stream : streams_) {
        status = DestroyStream(0, stream);
        if (!status.ok()) return;
      }
    });
    for (double* time :
         {&turn.bare, &turn.hit, &turn.park, &turn.bare_hit, &turn.bare_park}) {
      *time /= streams_a_turn();
    }
    return status;
  }

 private:
  std::vector<hipStream_t> streams_;
  const bool last_first_;
};

bool AllocationsAreCounted() {
  const int64_t before = AllocationsOfThisThread();
  benchmark::DoNotOptimize(std::make_unique<int>());
  return AllocationsOfThisThread() == before + 1;
}

// `work` with streams of these keys parked.
void Measure(benchmark::State& state, Work& work,
             const std::vector<StreamKey>& parked) {
  // From a process's first thread on, locking a mutex takes what it takes in
  // any program that uses a GPU.
  WorkerThread another("another");
  StreamHandleCache& pool = StreamHandleCache::Get();
  absl::Status status = HipStatus("hipSetDevice", hipSetDevice(0));
  status.Update(pool.Prewarm(parked));
  status.Update(work.Start());
  if (status.ok()) {
    Turn first;  // for what is set up once
    status = work.Take(first);
  }
  if (!status.ok()) return Fail(state, status.ToString());
  if (!AllocationsAreCounted()) {
    return Fail(state, "heap allocations are not counted");
  }

  const StreamCacheStats before = pool.GetStats();
  const int64_t driver_before = DriverCalls();
  std::vector<Turn> turns;
  for (auto _ : state) {
    turns.emplace_back();
    status = work.Take(turns.back());
    if (!status.ok()) break;
    state.SetIterationTime(turns.back().ours() * work.streams_a_turn());
  }
  const PoolWork done(before);
  const int64_t driver_calls = DriverCalls() - driver_before;
  status.Update(pool.TrimAll());
  if (!status.ok()) return Fail(state, status.ToString());
  if (!done.Is(0, state.iterations() * work.streams_a_turn())) {
    return Fail(state, "not every stream was reused: " + done.ToString());
  }
  if (driver_calls != 0) {
    return Fail(state, absl::StrCat(driver_calls, " driver calls"));
  }
  int64_t allocations = 0;
  for (const Turn& turn : turns) {
    allocations +=
        std::max<int64_t>(turn.allocations - turn.bare_allocations, 0);
  }
  if (allocations != 0) {
    return Fail(state, absl::StrCat(allocations, " heap allocations"));
  }

  // Of every turn.
  const auto all = [&turns](const auto& member) {
    std::vector<double> numbers(turns.size());
    std::transform(turns.begin(), turns.end(), numbers.begin(),
                   [&](const Turn& turn) { return std::invoke(member, turn); });
    return numbers;
  };
  const std::vector<double> ours = all(&Turn::ours);
  const auto report = [&state](const std::string& name,
                               const std::vector<double>& bare,
                               const std::vector<double>& pooled) {
    const std::vector<double> over = Differences(pooled, bare);
    state.counters[name + "bare"] = Median(bare);
    state.counters[name + "ours"] = Median(pooled);
    state.counters[name + "over"] = Median(over);
    state.counters[name + "over_10%"] = Quantile(over, 0.1);
    state.counters[name + "over_90%"] = Quantile(over, 0.9);
  };
  report("", all(&Turn::bare), ours);
  if (turns.front().bare_hit > 0) {
    report("hit_", all(&Turn::bare_hit), all(&Turn::hit));
    report("park_", all(&Turn::bare_park), all(&Turn::park));
  }
  state.counters["heap_allocations"] = static_cast<double>(allocations);
}

// The order in which the handles that were leased are parked again.
enum class Order { kAtOnce, kFirstFirst, kLastFirst };

// The books of so many parked handles of so many kinds, without HIP.
void MeasureBooks(benchmark::State& state, int parked, int kinds, Order order) {
  WorkerThread another("another");
  Counters counters;
  HandleStore store(counters);
  const auto key = [kinds](int i) { return StreamKey{0, 0, i % kinds}; };
  const auto park = [&store](HandleStore::Handle handle) {
    HandleStore::ClaimResult claim = store.Claim(handle);
    return claim.ticket && store.Park(claim.ticket, kMostParked) ==
                               HandleStore::ParkResult::kParked;
  };
  std::vector<int> values(parked);  // their addresses are the handles
  for (int i = 0; i < parked; ++i) {
    HandleStore::Ticket made;
    store.Add(&values[i], key(i), /*identity=*/0, &made);
    if (store.Park(made, kMostParked) != HandleStore::ParkResult::kParked) {
      return Fail(state, "a new handle was not parked");
    }
  }
  // All at a time, or as many one at a time.
  std::vector<HandleStore::Handle> leased(order == Order::kAtOnce ? kBlock
                                                                  : parked);
  bool ok = true;
  const auto lease = [&](int i) {
    HandleStore::Acquired acquired = {};
    ok = store.Acquire(key(i), &acquired) && ok;
    return acquired.handle;
  };
  const int size = static_cast<int>(leased.size());
  const int rounds = std::max(1, kBlock / size);
  std::vector<double> times;
  for (auto _ : state) {
    const double seconds = Seconds([&] {
      for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < size; ++i) {
          leased[i] = lease(i);
          if (order == Order::kAtOnce) ok = park(leased[i]) && ok;
        }
        if (order == Order::kAtOnce) continue;
        for (int i = 0; i < size; ++i) {
          ok = park(leased[order == Order::kFirstFirst ? i : size - 1 - i]) &&
               ok;
        }
      }
    });
    state.SetIterationTime(seconds);
    times.push_back(seconds / (rounds * size));
  }
  StreamCacheStats stats;
  counters.AddTo(stats);
  if (!ok || stats.parked_now != parked ||
      stats.hits != state.iterations() * rounds * size) {
    return Fail(state, "not every handle was leased and parked again");
  }
  state.counters["cycle"] = Median(times);
}

Table::Section RegisterBooks() {
  Table::Section section;
  section.title =
      "The bookkeeping of a hit and a park alone (HandleStore), without HIP";
  section.headings = {"parked", "one at a time", "all in order",
                      "all in reverse"};
  const auto add = [&section](const std::string& name, int parked, int kinds) {
    Table::Row row = {Table::Cell::Text(name)};
    for (const auto& [what, order] :
         {std::pair<const char*, Order>{"one", Order::kAtOnce},
          {"together", Order::kFirstFirst},
          {"reverse", Order::kLastFirst}}) {
      const std::string full =
          absl::StrCat("books/", what, ":", parked, "/kinds:", kinds);
      benchmark::RegisterBenchmark(full.c_str(), [=, order = order](
                                                     benchmark::State& state) {
        MeasureBooks(state, parked, kinds, order);
      })->UseManualTime();
      row.push_back(Table::Cell::Time(full, "cycle"));
    }
    section.rows.push_back(std::move(row));
  };
  for (int parked : {1, 16, 128, kMostParked}) {
    add(absl::StrCat(parked), parked, 1);
  }
  add("16 of each of 6 keys, by turns", 6 * 16, 6);
  return section;
}

// Returns the name.
std::string Register(const std::string& name,
                     std::function<std::unique_ptr<Work>()> make,
                     std::vector<StreamKey> parked) {
  std::string full = "floor/" + name;
  const int turns = Turns(parked.size());
  benchmark::RegisterBenchmark(
      full.c_str(), [make = std::move(make), parked = std::move(parked)](
                        auto& state) { Measure(state, *make(), parked); })
      ->UseManualTime()
      ->Iterations(turns);
  return full;
}

std::vector<StreamKey> AllKeysOfADevice() {
  std::vector<StreamKey> keys;
  for (unsigned int flags : {hipStreamDefault, hipStreamNonBlocking}) {
    for (int priority : {-1, 0, 1}) keys.push_back({0, flags, priority});
  }
  return keys;
}

Table::Row Row(const std::string& name, const std::string& benchmark,
               const std::string& prefix = "") {
  const auto time = [&](const char* counter) {
    return Table::Cell::Time(benchmark, prefix + counter);
  };
  return {Table::Cell::Text(name), time("bare"),    time("ours"), time("over"),
          time("over_10%"),        time("over_90%")};
}

}  // namespace

std::vector<Table::Section> RegisterFloor() {
  const std::vector<std::string> headings = {
      "", "HIP's calls", "ours", "over them", "10% below", "90% below"};
  const auto one = [](std::vector<StreamKey> keys) {
    return
        [keys = std::move(keys)] { return std::make_unique<OneAtATime>(keys); };
  };

  Table::Section cycle;
  cycle.title = "What the pool adds to the HIP calls of a hit and a park";
  cycle.note =
      absl::StrCat("of one stream: ", BareCallsOfACycle(),
                   " HIP calls; by turns with these alone. No heap allocation, "
                   "no driver call");
  cycle.headings = headings;
  const std::string single =
      Register("parked:1", one({StreamKey()}), {StreamKey()});
  const std::string sixteen = Register(
      "together:16", [] { return std::make_unique<Together>(16, false); },
      std::vector<StreamKey>(16));
  cycle.rows.push_back(Row("hit + park", single));
  cycle.rows.push_back(Row("hit, of 16 streams", sixteen, "hit_"));
  cycle.rows.push_back(Row("park, of 16 streams", sixteen, "park_"));

  Table::Section growth;
  growth.title = "A hit and a park beside parked streams of the same device";
  growth.note =
      "a lone stream, or all of a client's that destroys them in the order of "
      "creation, or in reverse";
  growth.headings = headings;
  growth.headings[0] = "parked";
  growth.rows.push_back(Row("1", single));
  for (int parked : {16, 128, kMostParked}) {
    growth.rows.push_back(
        Row(absl::StrCat(parked),
            Register(absl::StrCat("parked:", parked), one({StreamKey()}),
                     std::vector<StreamKey>(parked))));
  }
  std::vector<StreamKey> parked;
  for (int i = 0; i < 16; ++i) {
    for (const StreamKey& key : AllKeysOfADevice()) parked.push_back(key);
  }
  growth.rows.push_back(
      Row("16 of each of 6 keys, by turns",
          Register("keys:6", one(AllKeysOfADevice()), parked)));
  growth.rows.push_back(Row("16, all in order", sixteen));
  for (bool last_first : {false, true}) {
    growth.rows.push_back(
        Row(last_first ? "128, all in reverse" : "128, all in order",
            Register(
                last_first ? "reverse:128" : "together:128",
                [=] { return std::make_unique<Together>(128, last_first); },
                std::vector<StreamKey>(128))));
  }
  return {cycle, growth, RegisterBooks()};
}

}  // namespace hip_stream_pool
