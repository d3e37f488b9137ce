// SPDX-License-Identifier: Apache-2.0
#include "executor/executor.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/event_pool.h"
#include "executor/hip_status.h"
#include "hip_stream_pool/worker_thread.h"

namespace hip_stream_pool {
namespace {

// Where `roles` have the streams that Copy uses.
constexpr int kCompute = 0;
constexpr int kHostToDevice = 1;
constexpr int kFirstDeviceToHost = 2;
constexpr int kFirstDeviceToDevice = 6;
constexpr int kStreamsEachWay = 4;

// Makes the device current, and gives the caller's back.
class ScopedDevice {
 public:
  explicit ScopedDevice(int ordinal)
      : status_(HipStatus("hipGetDevice", hipGetDevice(&callers_))) {
    status_.Update(HipStatus("hipSetDevice", hipSetDevice(ordinal)));
  }
  ~ScopedDevice() { (void)hipSetDevice(callers_); }
  ScopedDevice(const ScopedDevice&) = delete;
  ScopedDevice& operator=(const ScopedDevice&) = delete;

  const absl::Status& status() const { return status_; }

 private:
  int callers_ = 0;
  absl::Status status_;
};

absl::Status Synchronize(int ordinal) {
  ScopedDevice current(ordinal);
  if (!current.status().ok()) return current.status();
  return HipStatus("hipDeviceSynchronize", hipDeviceSynchronize());
}

}  // namespace

struct Executor::Device {
  explicit Device(int ordinal)
      : ordinal(ordinal), worker(absl::StrCat("device ", ordinal)) {}

  const RocmStream& StreamFor(hipMemcpyKind kind) {
    if (kind == hipMemcpyHostToDevice) return streams[kHostToDevice];
    const int first = kind == hipMemcpyDeviceToHost ? kFirstDeviceToHost
                                                    : kFirstDeviceToDevice;
    return streams[first + next_stream++ % kStreamsEachWay];
  }

  const int ordinal;
  std::vector<RocmStream> streams;
  std::atomic<unsigned int> next_stream{0};
  EventPool events;
  WorkerThread worker;
};

std::vector<StreamKey> StreamKeys(int device_ordinal,
                                  absl::Span<const StreamRole> roles) {
  std::vector<StreamKey> keys;
  for (const StreamRole& role : roles) {
    keys.insert(keys.end(), role.count,
                {device_ordinal, hipStreamDefault, role.priority});
  }
  return keys;
}

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(
    int devices, absl::Span<const StreamRole> roles) {
  std::unique_ptr<Executor> executor(new Executor);
  for (int ordinal = 0; ordinal < devices; ++ordinal) {
    auto device = std::make_unique<Device>(ordinal);
    for (const StreamKey& key : StreamKeys(ordinal, roles)) {
      absl::StatusOr<RocmStream> stream = RocmStream::Create(key);
      if (!stream.ok()) return stream.status();
      device->streams.push_back(*std::move(stream));
    }
    executor->devices_.push_back(std::move(device));
  }
  return executor;
}

Executor::~Executor() { Close().IgnoreError(); }

absl::Status Executor::Copy(int device_ordinal, void* to, const void* from,
                            size_t size, hipMemcpyKind kind, Callback done) {
  Device& device = *devices_[device_ordinal];
  const RocmStream& compute = device.streams[kCompute];
  const RocmStream& stream = device.StreamFor(kind);

  ScopedDevice current(device_ordinal);
  if (!current.status().ok()) return current.status();
  absl::StatusOr<hipEvent_t> event = device.events.Take();
  if (!event.ok()) return event.status();

  absl::Status status = stream.WaitFor(compute);
  if (status.ok()) {
    status = HipStatus("hipMemcpyAsync",
                       hipMemcpyAsync(to, from, size, kind, stream.handle()));
  }
  if (status.ok()) status = stream.RecordEvent(*event);
  if (status.ok() && kind != hipMemcpyDeviceToHost) {
    status = compute.WaitFor(*event);
  }
  if (status.ok()) {
    // HIP's thread may not call HIP, and must not wait for a lock of ours.
    status = stream.DoHostCallback(
        [&device, event = *event, done = std::move(done)]() mutable {
          device.worker.Schedule(
              [&device, event, done = std::move(done)]() mutable {
                std::move(done)();
                done = nullptr;
                device.events.GiveBack(event);
              });
        });
  }
  if (!status.ok()) device.events.GiveBack(*event);
  return status;
}

absl::Span<const RocmStream> Executor::streams(int device_ordinal) const {
  return devices_[device_ordinal]->streams;
}

// Each step makes sure that nothing is left that could use what the next one
// takes away.
absl::Status Executor::Close() {
  absl::Status status;
  do {
    // No callback is added to a worker any more, unless one of its tasks
    // enqueues work.
    for (auto& device : devices_) status.Update(Synchronize(device->ordinal));
    // No task runs any more.
    for (auto& device : devices_) status.Update(device->worker.Drain());
  } while (status.ok() && HasWork());
  for (auto& device : devices_) status.Update(device->events.Clear());
  for (auto& device : devices_) {
    for (RocmStream& stream : device->streams) status.Update(stream.Release());
  }
  // Joins the workers.
  devices_.clear();
  return status;
}

// Each copy has an event in flight until its callback has run.
bool Executor::HasWork() const {
  for (const auto& device : devices_) {
    if (device->events.in_flight() > 0) return true;
  }
  return false;
}

}  // namespace hip_stream_pool
