// SPDX-License-Identifier: Apache-2.0
//
// Executor is a client of the pool in the shape of a real one: on each of its
// devices it has streams for every kind of work, events in flight, and a thread
// for callbacks. It shows how such a client makes its streams, and how it takes
// itself apart while callbacks still run. It uses the public interface only:
// copy from it.
#ifndef HIP_STREAM_POOL_TESTS_EXECUTOR_EXECUTOR_H_
#define HIP_STREAM_POOL_TESTS_EXECUTOR_EXECUTOR_H_

#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/rocm_stream.h"
#include "hip_stream_pool/stream_key.h"

namespace hip_stream_pool {

// One role of a device's streams. HIP deals streams out to the hardware queues
// as they are created, so the order of the roles decides which of them share a
// queue.
struct StreamRole {
  const char* name;
  int count;
  int priority;
};

// The pool takes the nearest that the device has.
inline constexpr int kHighestPriority = std::numeric_limits<int>::min();

// 18 streams.
inline constexpr StreamRole kAllRoles[] = {
    {"compute", 1, 0},         {"host to device", 1, 0},
    {"device to host", 4, 0},  {"device to device", 4, kHighestPriority},
    {"fixed-size pool", 4, 0}, {"external ready", 4, 0},
};

// 14 streams: those of the client in openxla/xla pull request 42952.
inline constexpr StreamRole kMeasuredRoles[] = {
    {"compute", 1, 0},        {"host to device", 1, 0},
    {"device to host", 4, 0}, {"device to device", 4, kHighestPriority},
    {"external ready", 4, 0},
};

// The keys of a device's streams, in order.
std::vector<StreamKey> StreamKeys(int device_ordinal,
                                  absl::Span<const StreamRole> roles);

// Thread-safe, but for Close and the destructor.
class Executor {
 public:
  using Callback = absl::AnyInvocable<void() &&>;

  // On the devices from 0 to `devices` - 1. `roles` begin as kAllRoles does, up
  // to "device to device".
  static absl::StatusOr<std::unique_ptr<Executor>> Create(
      int devices, absl::Span<const StreamRole> roles = kAllRoles);

  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  // Close(), without its error.
  ~Executor();

  // Enqueues a copy to, from or on the device, behind the compute stream's work
  // so far; the compute stream's later work waits for what the copy brings to
  // the device. When it is done, `done` runs on the device's worker thread,
  // where it may call HIP, and this. It is dropped when this returns an error.
  absl::Status Copy(int device_ordinal, void* to, const void* from, size_t size,
                    hipMemcpyKind kind, Callback done);

  // The device's streams, in the order of their roles.
  absl::Span<const RocmStream> streams(int device_ordinal) const;

  // Waits for all work and its callbacks, and for the work that these enqueue;
  // then gives everything up. Not to be called by a callback. Returns the first
  // error.
  absl::Status Close();

 private:
  struct Device;

  Executor() = default;
  bool HasWork() const;

  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_TESTS_EXECUTOR_EXECUTOR_H_
