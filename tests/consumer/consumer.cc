// SPDX-License-Identifier: Apache-2.0
//
// A program that uses the library from outside of its tree: every public
// header, and a stream that comes back from the pool.
#include <cstdio>
#include <memory>

#include "hip_stream_pool/create_stream.h"
#include "hip_stream_pool/rocm_stream.h"
#include "hip_stream_pool/sequencing_event.h"
#include "hip_stream_pool/stream_context.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "hip_stream_pool/stream_key.h"
#include "hip_stream_pool/tracked_buffer.h"
#include "hip_stream_pool/worker_thread.h"

namespace {

using hip_stream_pool::RocmStream;
using hip_stream_pool::StreamContext;
using hip_stream_pool::StreamHandleCache;
using hip_stream_pool::StreamKey;
using hip_stream_pool::WorkerThread;

absl::Status UseAStreamTwice() {
  const StreamKey key = {/*device_ordinal=*/0, hipStreamNonBlocking,
                         /*priority=*/-1};
  hipStream_t first = nullptr;
  for (int i = 0; i < 2; ++i) {
    absl::StatusOr<RocmStream> stream = RocmStream::Create(key);
    if (!stream.ok()) return stream.status();
    if (i == 0) first = stream->handle();
    if (stream->handle() != first) {
      return absl::InternalError(ToString(key) + ": another stream");
    }
    int called = 0;
    absl::Status status = stream->DoHostCallback([&called] { ++called; });
    status.Update(stream->Release());
    if (!status.ok()) return status;
    if (called != 1) return absl::InternalError("the callback did not run");
  }
  return absl::OkStatus();
}

absl::Status RunOnACallersStream() {
  absl::StatusOr<std::unique_ptr<StreamContext>> context =
      StreamContext::Create({});
  if (!context.ok()) return context.status();
  absl::StatusOr<hipStream_t> callers = hip_stream_pool::CreateStream({});
  if (!callers.ok()) return callers.status();
  absl::Status status = (*context)->RunAsync(*callers, [&](hipStream_t stream) {
    return stream == *callers ? absl::OkStatus()
                              : absl::InternalError("another stream");
  });
  status.Update(hip_stream_pool::DestroyStream(0, *callers));
  return status;
}

}  // namespace

int main() {
  absl::Status status = UseAStreamTwice();
  status.Update(RunOnACallersStream());
  WorkerThread worker("consumer");
  worker.Schedule([] {});
  status.Update(worker.Drain());
  status.Update(StreamHandleCache::Get().TrimAll());
  if (StreamHandleCache::Get().GetStats().hits == 0) {
    status.Update(absl::InternalError("the pool leased nothing again"));
  }
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
