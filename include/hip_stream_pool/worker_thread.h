// SPDX-License-Identifier: Apache-2.0
//
// WorkerThread runs tasks one after the other on one thread, in the order in
// which they were scheduled. An executor has one for the callbacks of its
// streams, where HIP may be called and locks may be taken, which a HIP callback
// must not do.
//
// A callback uses what the executor owns. So before it takes itself apart, an
// executor synchronizes its devices (after which no callback can be added) and
// drains its worker (after which none runs), and only then drops its streams
// and events:
//
//   stream.DoHostCallback([&] { worker_.Schedule(callback); });
//   ...
//   (void)hipDeviceSynchronize();   // on each device
//   absl::Status drained = worker_.Drain();
//   events_.clear();
//   streams_.clear();
#ifndef HIP_STREAM_POOL_WORKER_THREAD_H_
#define HIP_STREAM_POOL_WORKER_THREAD_H_

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

namespace hip_stream_pool {

class WorkerThread {
 public:
  // The name is for debuggers; the system shows its first 15 bytes.
  explicit WorkerThread(std::string name);

  // Runs what is queued, and what those tasks schedule, and joins the thread.
  // If a task of this worker calls it, it detaches the thread, which runs what
  // is queued and ends; those tasks must not use this object. Not to be called
  // in a forked child, which has no such thread.
  ~WorkerThread();

  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  // Any thread may call this, tasks too. A task must not throw.
  void Schedule(absl::AnyInvocable<void() &&> task);

  // Waits until every task scheduled before this call has run and is
  // destroyed. Any thread may call it but the worker, which would wait for
  // itself: FailedPrecondition.
  [[nodiscard]] absl::Status Drain();

 private:
  class Queue;
  const std::shared_ptr<Queue> queue_;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_WORKER_THREAD_H_
