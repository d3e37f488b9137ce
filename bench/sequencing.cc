// SPDX-License-Identifier: Apache-2.0
#include "sequencing.h"

#include <cstddef>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/rocm_stream.h"
#include "hip_stream_pool/sequencing_event.h"
#include "hip_stream_pool/tracked_buffer.h"
#include "meters.h"

namespace hip_stream_pool {
namespace {

absl::Status ToStatus(hipError_t error) {
  return error == hipSuccess ? absl::OkStatus()
                             : absl::InternalError(hipGetErrorName(error));
}

// Calls that are timed, between a set-up and a clean-up that are not; and how
// often. More calls than HIP has signals ready would wait for the work.
constexpr int kCalls = 16;
constexpr int kRounds = 100;
constexpr char kPerCall[] = "per_call";

// What the work on the producer's stream is when it is measured.
enum class Work { kDone, kBusy };

// A producer, a consumer, and the same event in both ways.
struct Streams {
  static absl::StatusOr<Streams> Create(Work work) {
    absl::StatusOr<RocmStream> producer = RocmStream::Create({0, 1, 0});
    if (!producer.ok()) return producer.status();
    absl::StatusOr<RocmStream> consumer = RocmStream::Create({0, 1, 0});
    if (!consumer.ok()) return consumer.status();
    Streams streams{*std::move(producer), *std::move(consumer)};
    absl::Status status = ToStatus(hipSetDevice(0));
    if (work == Work::kBusy) {
      streams.done = std::make_unique<std::promise<void>>();
      status = streams.producer.DoHostCallback(
          [done = streams.done->get_future().share()] { done.wait(); });
    }
    status.Update(
        ToStatus(hipEventCreateWithFlags(&streams.raw, hipEventDisableTiming)));
    if (!status.ok()) return status;
    status.Update(
        ToStatus(hipEventRecord(streams.raw, streams.producer.handle())));
    status.Update(streams.event->RecordOn(streams.producer));
    if (work == Work::kDone) {
      status.Update(streams.event->BlockHostUntilComplete());
    }
    if (!status.ok()) return status;
    return streams;
  }

  absl::Status CleanUp() {
    if (done != nullptr) done->set_value();
    absl::Status status = producer.BlockHostUntilDone();
    status.Update(consumer.BlockHostUntilDone());
    status.Update(ToStatus(hipEventDestroy(raw)));
    return status;
  }

  RocmStream producer;
  RocmStream consumer;
  std::shared_ptr<SequencingEvent> event = SequencingEvent::Create();
  hipEvent_t raw = nullptr;
  std::unique_ptr<std::promise<void>> done = nullptr;
};

using Operation = absl::Status (*)(Streams&);

absl::Status RawRecord(Streams& s) {
  return ToStatus(hipEventRecord(s.raw, s.producer.handle()));
}
absl::Status Record(Streams& s) {
  return SequencingEvent::Create()->RecordOn(s.producer);
}
absl::Status RawWait(Streams& s) {
  return ToStatus(hipStreamWaitEvent(s.consumer.handle(), s.raw, 0));
}
absl::Status Wait(Streams& s) { return s.event->WaitOn(s.consumer); }
absl::Status RawWaitOnItself(Streams& s) {
  return ToStatus(hipStreamWaitEvent(s.producer.handle(), s.raw, 0));
}
absl::Status WaitOnItself(Streams& s) { return s.event->WaitOn(s.producer); }

template <hipError_t expected>
absl::Status RawTry(Streams& s) {
  const hipError_t answer = hipEventQuery(s.raw);
  return answer == expected ? absl::OkStatus()
                            : absl::InternalError(hipGetErrorName(answer));
}
template <bool expected>
absl::Status Try(Streams& s) {
  return s.event->TryIsComplete() == expected
             ? absl::OkStatus()
             : absl::InternalError("TryIsComplete: another answer");
}

void MeasureCalls(benchmark::State& state, Work work, Operation operation) {
  for (auto _ : state) {
    absl::StatusOr<Streams> streams = Streams::Create(work);
    absl::Status status = streams.status();
    if (status.ok()) {
      state.SetIterationTime(Seconds([&] {
        for (int i = 0; i < kCalls && status.ok(); ++i) {
          status = operation(*streams);
        }
      }));
      status.Update(streams->CleanUp());
    }
    if (!status.ok()) return Fail(state, status.ToString());
  }
  state.counters[kPerCall] = TimeOfEach(kCalls);
}

Table::Cell RegisterCalls(const std::string& name, Work work,
                          Operation operation) {
  benchmark::RegisterBenchmark(
      name.c_str(),
      [=](benchmark::State& state) { MeasureCalls(state, work, operation); })
      ->UseManualTime()
      ->Iterations(kRounds);
  return Table::Cell::Time(name, kPerCall);
}

// Buffers go from the host to the device, through two streams that compute (a
// copy within the device each), and back: a stream for each step.
class Pipeline {
 public:
  static constexpr int kSteps = 4;
  static constexpr int kBuffers = 16;
  static constexpr size_t kSize = 64 << 10;
  // By hand: one event for each step of each buffer, created once.
  enum class Order { kNone, kByHand, kTracked };

  Pipeline() = default;
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline() {
    for (Slot& slot : slots_) {
      for (hipEvent_t event : slot.events) (void)hipEventDestroy(event);
      for (void* memory : slot.device) (void)hipFree(memory);
      (void)hipHostFree(slot.from);
      (void)hipHostFree(slot.to);
    }
  }

  absl::Status Init() {
    for (int step = 0; step < kSteps; ++step) {
      absl::StatusOr<RocmStream> stream = RocmStream::Create({0, 1, 0});
      if (!stream.ok()) return stream.status();
      streams_.push_back(*std::move(stream));
    }
    hipError_t error = hipSetDevice(0);
    const auto check = [&error](hipError_t next) {
      if (error == hipSuccess) error = next;
    };
    for (int i = 0; i < kBuffers; ++i) {
      Slot& slot = slots_[i];
      check(hipHostMalloc(&slot.from, kSize, 0));
      check(hipHostMalloc(&slot.to, kSize, 0));
      for (void*& memory : slot.device) check(hipMalloc(&memory, kSize));
      for (hipEvent_t& event : slot.events) {
        check(hipEventCreateWithFlags(&event, hipEventDisableTiming));
      }
      if (error != hipSuccess) break;
      std::memset(slot.from, 1 + i, kSize);
    }
    return ToStatus(error);
  }

  // All the buffers, once; then waits.
  absl::Status Run(Order order) {
    absl::Status status;
    for (Slot& slot : slots_) {
      status.Update(order == Order::kTracked
                        ? EnqueueTracked(slot)
                        : EnqueueByHand(slot, order == Order::kByHand));
    }
    for (const RocmStream& stream : streams_) {
      status.Update(stream.BlockHostUntilDone());
    }
    return status;
  }

  // Whether every buffer has come back as it was sent.
  bool HasArrived() const {
    for (const Slot& slot : slots_) {
      if (std::memcmp(slot.from, slot.to, kSize) != 0) return false;
    }
    return true;
  }

 private:
  struct Slot {
    void* from = nullptr;
    void* device[kSteps - 1] = {};
    void* to = nullptr;
    hipEvent_t events[kSteps - 1] = {};
  };

  static hipMemcpyKind Kind(int step) {
    return step == 0            ? hipMemcpyHostToDevice
           : step == kSteps - 1 ? hipMemcpyDeviceToHost
                                : hipMemcpyDeviceToDevice;
  }

  absl::Status EnqueueByHand(const Slot& slot, bool order) {
    hipError_t error = hipSuccess;
    for (int step = 0; step < kSteps && error == hipSuccess; ++step) {
      const hipStream_t stream = streams_[step].handle();
      if (order && step > 0) {
        error = hipStreamWaitEvent(stream, slot.events[step - 1], 0);
      }
      if (error == hipSuccess) {
        error = hipMemcpyAsync(step == kSteps - 1 ? slot.to : slot.device[step],
                               step == 0 ? slot.from : slot.device[step - 1],
                               kSize, Kind(step), stream);
      }
      if (order && error == hipSuccess && step < kSteps - 1) {
        error = hipEventRecord(slot.events[step], stream);
      }
    }
    return ToStatus(error);
  }

  absl::Status EnqueueTracked(const Slot& slot) {
    std::optional<TrackedBuffer> last;
    for (int step = 0; step < kSteps - 1; ++step) {
      TrackedBuffer next(slot.device[step], kSize);
      absl::Status copied =
          (last ? CopyDeviceToDevice(next, *last, kSize, streams_[step])
                : CopyHostToDevice(next, slot.from, kSize, streams_[step]))
              .status();
      if (!copied.ok()) return copied;
      last = next;
    }
    const RocmStream& back = streams_[kSteps - 1];
    absl::Status defined = last->WaitUntilDefined(back);
    if (!defined.ok()) return defined;
    return ToStatus(hipMemcpyAsync(slot.to, last->data(), kSize,
                                   Kind(kSteps - 1), back.handle()));
  }

  std::vector<RocmStream> streams_;
  Slot slots_[kBuffers];
};

constexpr char kPerBuffer[] = "per_buffer";

void MeasurePipeline(benchmark::State& state, Pipeline::Order order) {
  Pipeline pipeline;
  absl::Status status = pipeline.Init();
  if (status.ok()) status = pipeline.Run(order);
  if (status.ok()) {
    for (auto _ : state) {
      status = pipeline.Run(order);
      if (!status.ok()) break;
    }
  }
  if (!status.ok()) return Fail(state, status.ToString());
  if (order != Pipeline::Order::kNone && !pipeline.HasArrived()) {
    return Fail(state, "the pipeline has lost what it was given");
  }
  state.counters[kPerBuffer] = TimeOfEach(Pipeline::kBuffers);
}

Table::Cell RegisterPipeline(const std::string& name, Pipeline::Order order) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    MeasurePipeline(state, order);
  })->UseRealTime();
  return Table::Cell::Time(name, kPerBuffer);
}

}  // namespace

Table::Section RegisterSequencing() {
  Table::Section section;
  section.title =
      "Who has written this buffer (SequencingEvent, TrackedBuffer)";
  section.note =
      "HIP: hipEventRecord, hipStreamWaitEvent, hipEventQuery of an event "
      "created before; the pipeline copies 64 KiB to the device, twice within "
      "it, and back, a stream for each";
  section.headings = {"a call", "HIP's own", "tracked"};
  using Cell = Table::Cell;
  const auto add_calls = [&](const char* row, const char* name, Work work,
                             Operation by_hip, Operation tracked) {
    section.rows.push_back(
        {Cell::Text(row),
         RegisterCalls(absl::StrCat("hip_", name), work, by_hip),
         RegisterCalls(name, work, tracked)});
  };
  add_calls("record", "record", Work::kDone, RawRecord, Record);
  add_calls("wait, busy", "wait_busy", Work::kBusy, RawWait, Wait);
  add_calls("wait, busy, same stream", "wait_same_stream", Work::kBusy,
            RawWaitOnItself, WaitOnItself);
  add_calls("wait, done", "wait_done", Work::kDone, RawWait, Wait);
  add_calls("try, busy", "try_busy", Work::kBusy, RawTry<hipErrorNotReady>,
            Try<false>);
  add_calls("try, done", "try_done", Work::kDone, RawTry<hipSuccess>,
            Try<true>);
  section.rows.push_back(
      {Cell::Text("a buffer through 4 streams"),
       RegisterPipeline("pipeline/by_hand", Pipeline::Order::kByHand),
       RegisterPipeline("pipeline/tracked", Pipeline::Order::kTracked)});
  section.rows.push_back(
      {Cell::Text("  without waits, and so wrong"),
       RegisterPipeline("pipeline/not_ordered", Pipeline::Order::kNone),
       Cell::Text("")});
  return section;
}

}  // namespace hip_stream_pool
