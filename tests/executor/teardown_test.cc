// SPDX-License-Identifier: Apache-2.0
//
// teardown_test with_drain | without_drain: why an executor drains its worker
// before it destroys what the worker's tasks use.
//
// The members of Device are destroyed from the last to the first: the events,
// and then the worker, which runs what is still queued before it ends. After a
// drain, nothing is. Without it, a task uses the events that are gone: in a
// build with AddressSanitizer it does, and is caught; in another one it says so
// instead.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/hip_status.h"
#include "gpu/gpu_choice.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/rocm_stream.h"
#include "hip_stream_pool/worker_thread.h"

#ifdef __SANITIZE_ADDRESS__
#define UNDER_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#define UNDER_ADDRESS_SANITIZER __has_feature(address_sanitizer)
#else
#define UNDER_ADDRESS_SANITIZER 0
#endif

namespace hip_stream_pool {
namespace {

std::atomic<bool> events_are_gone{false};
enum class Task { kHasNotRun, kInTime, kTooLate, kFailed };
std::atomic<Task> task{Task::kHasNotRun};

struct Events {
  ~Events() { (void)hipEventDestroy(copied); }
  hipEvent_t copied = nullptr;
};

struct SaysThatEventsAreGone {
  ~SaysThatEventsAreGone() { events_are_gone = true; }
};

class Device {
 public:
  Device(RocmStream stream, bool drains)
      : drains_(drains), worker_("device 0"), stream_(std::move(stream)) {}

  ~Device() {
    if (!drains_) return;
    absl::Status status =
        HipStatus("hipDeviceSynchronize", hipDeviceSynchronize());
    status.Update(worker_.Drain());
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  }

  // Enqueues a callback that has the worker look at the event.
  absl::Status Enqueue() {
    absl::Status status =
        HipStatus("hipEventCreate", hipEventCreate(&events_->copied));
    if (status.ok()) status = stream_.RecordEvent(events_->copied);
    if (!status.ok()) return status;
    return stream_.DoHostCallback([this, events = events_.get()] {
      worker_.Schedule([events] { RunTask(events); });
    });
  }

 private:
  static void RunTask(const Events* events) {
    // For as long as a thread needs to destroy the events, if it will.
    for (int i = 0; i < 100 && !events_are_gone; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    task = events_are_gone ? Task::kTooLate : Task::kInTime;
    if (events_are_gone) {
      std::printf("a task uses events that are gone\n");
      if (!UNDER_ADDRESS_SANITIZER) return;
    }
    if (hipEventQuery(events->copied) != hipSuccess) task = Task::kFailed;
  }

  const bool drains_;
  WorkerThread worker_;
  RocmStream stream_;
  SaysThatEventsAreGone after_events_;
  std::unique_ptr<Events> events_ = std::make_unique<Events>();
};

absl::Status RunDevice(bool drains) {
  absl::StatusOr<RocmStream> stream = RocmStream::Create({});
  if (!stream.ok()) return stream.status();
  Device device(*std::move(stream), drains);
  return device.Enqueue();
}

}  // namespace
}  // namespace hip_stream_pool

int main(int argc, char** argv) {
  hip_stream_pool::ChooseGpu(argv);
  if (argc != 2) return 2;
  absl::Status status =
      hip_stream_pool::RunDevice(std::strcmp(argv[1], "with_drain") == 0);
  if (!status.ok()) {
    std::fprintf(stderr, "teardown_test: %s\n", status.ToString().c_str());
    return 2;
  }
  using hip_stream_pool::Task;
  return hip_stream_pool::task == Task::kInTime ? 0 : 1;
}
