// SPDX-License-Identifier: Apache-2.0
//
// Which hardware queue the stream of each role of a client is on, over AMD's
// own HIP runtime on the simulated GPU.
//
// HIP (here 5.2 to 6.4) has up to 4 queues for each priority. It chooses a
// stream's queue when it creates the stream: a new queue, as long as there are
// fewer than 4, then the one with the fewest streams; of several, the one at
// the lowest address in memory. So which roles share a queue is chance, from
// process to process and, on HIP 5.2, where a queue goes with its last stream,
// from client to client. A program can count on two things: streams created
// one after the other are spread evenly, and a stream stays on its queue. The
// pool makes the second hold for a role: it keeps its stream.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executor/executor.h"
#include "gmock/gmock.h"
#include "gpu/hip_testing.h"
#include "gtest/gtest.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/create_stream.h"
#include "hip_stream_pool/rocm_stream.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "simulated_hsa/simulated_hsa.h"
#include "stream_testing.h"

namespace hip_stream_pool {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;

constexpr int kDevice = 0;
constexpr size_t kQueues = 4;  // of a priority

// Where the roles' streams are in kAllRoles.
constexpr int kCompute = 0;
constexpr int kHostToDevice = 1;
constexpr int kFirstHigh = 6;
constexpr int kHighStreams = 4;

using Streams = std::vector<RocmStream>;

// The queue of each stream: H2 is the second of the device's queues of high
// priority, N2 of normal priority, in the order of creation.
using QueueTable = std::vector<std::string>;

std::vector<hipStream_t> HandlesOf(absl::Span<const RocmStream> streams) {
  std::vector<hipStream_t> handles;
  for (const RocmStream& stream : streams) handles.push_back(stream.handle());
  return handles;
}

class QueueOrderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (simulation == nullptr) GTEST_SKIP() << "needs the simulated GPU";
    ASSERT_HIP(hipSetDevice(kDevice));
    ASSERT_HIP(hipMalloc(&memory_, kBytes));
    // HIP creates the null stream when it is first used, and destroys it never.
    (void)QueueOf(nullptr);
    ASSERT_TRUE(cache.TrimAll().ok());
  }
  void TearDown() override {
    EXPECT_HIP(hipFree(memory_));
    EXPECT_TRUE(cache.TrimAll().ok());
    EXPECT_EQ(cache.GetStats().leased_now, 0);
  }

  // A client that creates its streams when it starts, in the order of roles.
  static Streams CreateClient() {
    Streams streams;
    for (const StreamKey& key : StreamKeys(kDevice, kAllRoles)) {
      streams.push_back(MakeStream(key));
    }
    return streams;
  }

  // Destroys the client's streams in some order.
  void Destroy(Streams streams) {
    std::shuffle(streams.begin(), streams.end(), random);
    for (RocmStream& stream : streams) EXPECT_TRUE(stream.Release().ok());
  }

  std::string QueueOf(hipStream_t stream) const {
    const auto before = simulation->ReadQueues();
    EXPECT_HIP(hipMemsetAsync(memory_, 1, kBytes, stream));
    EXPECT_HIP(hipStreamSynchronize(stream));
    const auto after = simulation->ReadQueues();
    const std::vector<int64_t> reached =
        simulated_hsa::QueuesReached(before, after);
    EXPECT_EQ(reached.size(), 1u);
    std::map<simulated_hsa::QueuePriority, int> place;
    for (const simulated_hsa::HardwareQueue& queue : after) {
      if (queue.device != kDevice) continue;
      ++place[queue.priority];
      if (reached == std::vector<int64_t>{queue.number}) {
        const bool high = queue.priority == simulated_hsa::QueuePriority::kHigh;
        return absl::StrCat(high ? "H" : "N", place[queue.priority]);
      }
    }
    return "none";
  }

  QueueTable QueuesOf(const std::vector<hipStream_t>& streams) const {
    QueueTable table;
    for (hipStream_t stream : streams) table.push_back(QueueOf(stream));
    return table;
  }
  QueueTable QueuesOf(const Streams& streams) const {
    return QueuesOf(HandlesOf(streams));
  }

  StreamHandleCache& cache = StreamHandleCache::Get();
  simulated_hsa::Control* const simulation = simulated_hsa::Get();
  std::mt19937 random{1};

 private:
  static constexpr size_t kBytes = 64;
  void* memory_ = nullptr;
};

// How many of the streams are on each queue, the emptiest first.
std::vector<int> StreamsAQueue(const QueueTable& table) {
  std::map<std::string, int> count;
  for (const std::string& queue : table) ++count[queue];
  std::vector<int> sorted;
  for (const auto& [queue, streams] : count) sorted.push_back(streams);
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// The streams of normal priority, and those of high.
std::pair<QueueTable, QueueTable> ByPriority(QueueTable table) {
  const auto first = table.begin() + kFirstHigh;
  const auto last = first + kHighStreams;
  QueueTable high(first, last);
  table.erase(first, last);
  return {table, high};
}

// What HIP sees to for a client that is alone with the null stream: the streams
// are spread evenly, and each four that are created one after the other are on
// four queues.
void ExpectDealtOutEvenly(const std::string& null_streams,
                          const QueueTable& table) {
  auto [normal, high] = ByPriority(table);
  normal.insert(normal.begin(), null_streams);
  EXPECT_THAT(StreamsAQueue(high), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(StreamsAQueue(normal), ElementsAre(3, 4, 4, 4));
  for (size_t i = 0; i + kQueues <= normal.size(); i += kQueues) {
    const std::set<std::string> four(normal.begin() + i,
                                     normal.begin() + i + kQueues);
    EXPECT_EQ(four.size(), kQueues) << "from " << i;
  }
}

// Prints a column a table.
void Print(const std::vector<std::pair<std::string, QueueTable>>& columns) {
  std::printf("\n  %-18s", "role");
  for (const auto& [title, table] : columns) {
    std::printf("%-14s", title.c_str());
  }
  auto first = 0;
  for (const StreamRole& role : kAllRoles) {
    std::printf("\n  %-18s", role.name);
    for (const auto& [title, table] : columns) {
      const auto queues = absl::MakeSpan(table).subspan(first, role.count);
      std::printf("%-14s", absl::StrJoin(queues, " ").c_str());
    }
    first += role.count;
  }
  std::printf("\n\n");
}

TEST_F(QueueOrderTest, ARoleHasItsQueueInTheFirstClientAndInTheThousandth) {
  Streams streams = CreateClient();
  const std::vector<hipStream_t> first = HandlesOf(streams);
  const QueueTable first_queues = QueuesOf(streams);
  ExpectDealtOutEvenly(QueueOf(nullptr), first_queues);
  for (int client = 2; client <= 1000; ++client) {
    Destroy(std::move(streams));
    streams = CreateClient();
    ASSERT_EQ(HandlesOf(streams), first) << "client " << client;
  }
  EXPECT_EQ(QueuesOf(streams), first_queues);
  Print(
      {{"first client", first_queues}, {"1,000th client", QueuesOf(streams)}});

  Destroy(std::move(streams));
  auto executor = Executor::Create(kDevice + 1);
  ASSERT_TRUE(executor.ok()) << executor.status();
  EXPECT_EQ(HandlesOf((*executor)->streams(kDevice)), first)
      << "an executor creates its streams in the same order";
}

TEST_F(QueueOrderTest, TwoClientsSideBySideEachKeepTheirQueues) {
  Streams a = CreateClient();
  Streams b = CreateClient();
  const QueueTable queues_of_a = QueuesOf(a);
  const QueueTable queues_of_b = QueuesOf(b);
  for (int i = 0; i < 100; ++i) {
    Destroy(std::move(a));
    a = CreateClient();
    ASSERT_EQ(QueuesOf(a), queues_of_a) << "b is alive, round " << i;
    Destroy(std::move(b));
    b = CreateClient();
    ASSERT_EQ(QueuesOf(b), queues_of_b) << "a is alive, round " << i;
  }
  QueueTable all = queues_of_a;
  all.insert(all.end(), queues_of_b.begin(), queues_of_b.end());
  all.push_back(QueueOf(nullptr));
  EXPECT_THAT(StreamsAQueue(all), ElementsAre(2, 2, 2, 2, 7, 7, 7, 8));
  Print({{"client", queues_of_a}, {"the one beside", queues_of_b}});
}

TEST_F(QueueOrderTest, TheFirstClientAfterATrimSetsTheQueuesOfThoseThatFollow) {
  Streams streams = CreateClient();
  const QueueTable before = QueuesOf(streams);
  Destroy(std::move(streams));
  ASSERT_TRUE(cache.Trim(kDevice).ok());
  ASSERT_EQ(cache.GetStats().parked_now, 0);

  streams = CreateClient();
  const std::vector<hipStream_t> first = HandlesOf(streams);
  const QueueTable after = QueuesOf(streams);
  ExpectDealtOutEvenly(QueueOf(nullptr), after);
  for (int client = 2; client <= 100; ++client) {
    Destroy(std::move(streams));
    streams = CreateClient();
    ASSERT_EQ(HandlesOf(streams), first) << "client " << client;
  }
  EXPECT_EQ(QueuesOf(streams), after);
  Print({{"before Trim", before}, {"after Trim", after}});
}

TEST_F(QueueOrderTest, ATrimDoesNotMoveTheClientThatIsAlive) {
  Streams gone = CreateClient();
  Streams alive = CreateClient();
  const QueueTable before = QueuesOf(HandlesOf(alive));
  Destroy(std::move(gone));
  // The numbers of the queues would change if one of them went.
  const auto queues = [this] {
    std::set<int64_t> numbers;
    for (const auto& queue : simulation->ReadQueues()) {
      numbers.insert(queue.number);
    }
    return numbers;
  };
  const std::set<int64_t> queues_before = queues();
  ASSERT_TRUE(cache.Trim(kDevice).ok());
  EXPECT_EQ(queues(), queues_before);
  EXPECT_EQ(QueuesOf(alive), before);
}

TEST_F(QueueOrderTest, WithoutThePoolHipDealsTheQueuesOutForEachClient) {
  std::set<QueueTable> raw;
  std::set<QueueTable> pooled;
  for (int client = 0; client < 20; ++client) {
    std::vector<hipStream_t> streams;
    for (const StreamKey& key : StreamKeys(kDevice, kAllRoles)) {
      streams.emplace_back();
      ASSERT_HIP(hipStreamCreateWithPriority(&streams.back(), key.flags,
                                             key.priority));
    }
    raw.insert(QueuesOf(streams));
    ExpectDealtOutEvenly(QueueOf(nullptr), QueuesOf(streams));
    std::shuffle(streams.begin(), streams.end(), random);
    for (hipStream_t stream : streams) {
      ASSERT_HIP(hipStreamDestroy(stream));
    }
  }
  for (int client = 0; client < 20; ++client) {
    Streams streams = CreateClient();
    pooled.insert(QueuesOf(streams));
    Destroy(std::move(streams));
  }
  std::printf("  different tables that 20 clients have without the pool: %zu\n",
              raw.size());
  EXPECT_EQ(pooled.size(), 1u);
}

// A client that creates a stream when its role is first used.
class LazyClient {
 public:
  LazyClient()
      : keys_(StreamKeys(kDevice, kAllRoles)), streams_(keys_.size()) {}

  // Those of the role's key come in the order of roles, so that each gets the
  // stream that Prewarm created for it.
  void UseRole(int role) {
    for (int i = 0; i < role; ++i) {
      if (keys_[i] == keys_[role]) UseRoleAlone(i);
    }
    UseRoleAlone(role);
  }

  void UseRoleAlone(int role) {
    if (streams_[role] != nullptr) return;
    absl::StatusOr<hipStream_t> stream = CreateStream(keys_[role]);
    ASSERT_TRUE(stream.ok()) << stream.status();
    streams_[role] = *stream;
  }

  const std::vector<hipStream_t>& streams() const { return streams_; }

  ~LazyClient() {
    for (hipStream_t stream : streams_) {
      if (stream == nullptr) continue;
      EXPECT_TRUE(DestroyStream(kDevice, stream).ok());
    }
  }

 private:
  const std::vector<StreamKey> keys_;
  std::vector<hipStream_t> streams_;
};

// Streams that a library creates for itself, by HIP.
class LibraryStreams {
 public:
  explicit LibraryStreams(int count) : streams_(count) {
    for (hipStream_t& stream : streams_) {
      EXPECT_HIP(hipStreamCreate(&stream));
    }
  }
  ~LibraryStreams() {
    DestroyIf([](hipStream_t) { return true; });
  }

  template <typename Condition>
  void DestroyIf(Condition condition) {
    for (hipStream_t& stream : streams_) {
      if (stream == nullptr || !condition(stream)) continue;
      EXPECT_HIP(hipStreamDestroy(std::exchange(stream, nullptr)));
    }
  }

 private:
  std::vector<hipStream_t> streams_;
};

class LazyQueueOrderTest : public QueueOrderTest {
 protected:
  void Prewarm() {
    const absl::Status prewarmed =
        cache.Prewarm(StreamKeys(kDevice, kAllRoles));
    ASSERT_TRUE(prewarmed.ok()) << prewarmed;
  }

  std::vector<int> RolesInSomeOrder() {
    std::vector<int> roles(StreamKeys(kDevice, kAllRoles).size());
    std::iota(roles.begin(), roles.end(), 0);
    std::shuffle(roles.begin(), roles.end(), random);
    return roles;
  }

  // Uses compute, then host to device. Meanwhile a library creates and destroys
  // streams so that compute's queue has the fewest. Returns the two queues.
  QueueTable UseTwoRolesWhileALibraryStarts() {
    LazyClient client;
    client.UseRole(kCompute);
    LibraryStreams library(16);
    const std::string queue = QueueOf(client.streams()[kCompute]);
    library.DestroyIf(
        [&](hipStream_t stream) { return QueueOf(stream) == queue; });
    client.UseRole(kHostToDevice);
    return {QueueOf(client.streams()[kCompute]),
            QueueOf(client.streams()[kHostToDevice])};
  }
};

TEST_F(LazyQueueOrderTest, AfterPrewarmALazyClientHasTheQueuesOfAnEagerOne) {
  Prewarm();
  const int64_t misses = cache.GetStats().misses;
  Streams streams = CreateClient();
  const std::vector<hipStream_t> eager = HandlesOf(streams);
  const QueueTable queues = QueuesOf(streams);
  ExpectDealtOutEvenly(QueueOf(nullptr), queues);
  Destroy(std::move(streams));

  for (int i = 0; i < 50; ++i) {
    LazyClient client;
    for (int role : RolesInSomeOrder()) {
      client.UseRole(role);
      LibraryStreams library(i % 3);
    }
    ASSERT_EQ(client.streams(), eager);
    ASSERT_EQ(QueuesOf(client.streams()), queues);
  }
  EXPECT_EQ(cache.GetStats().misses, misses);
}

// Roles of one key are interchangeable to the pool: the one that asks first
// gets the stream that was created first.
TEST_F(LazyQueueOrderTest, InAnyOrderRolesOfOneKeySwapStreamsAmongThemselves) {
  Prewarm();
  Streams streams = CreateClient();
  const auto [normal, high] = ByPriority(QueuesOf(streams));
  Destroy(std::move(streams));

  std::set<QueueTable> tables;
  for (int i = 0; i < 50; ++i) {
    LazyClient client;
    for (int role : RolesInSomeOrder()) client.UseRoleAlone(role);
    const QueueTable table = QueuesOf(client.streams());
    tables.insert(table);
    const auto [lazy_normal, lazy_high] = ByPriority(table);
    EXPECT_THAT(lazy_normal, UnorderedElementsAreArray(normal));
    EXPECT_THAT(lazy_high, UnorderedElementsAreArray(high));
  }
  EXPECT_GT(tables.size(), 1u);
}

TEST_F(LazyQueueOrderTest, PrewarmKeepsTwoRolesApartWhateverComesBetween) {
  const QueueTable without = UseTwoRolesWhileALibraryStarts();
  EXPECT_EQ(without[0], without[1]) << "HIP takes the queue with the fewest";

  ASSERT_TRUE(cache.TrimAll().ok());
  Prewarm();
  const QueueTable with = UseTwoRolesWhileALibraryStarts();
  EXPECT_NE(with[0], with[1]);
}

}  // namespace
}  // namespace hip_stream_pool
