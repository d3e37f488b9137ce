// SPDX-License-Identifier: Apache-2.0
//
// StreamContext is for an engine that has a stream of its own and runs, for one
// call, on its caller's: the work goes on the caller's stream, in order with
// the caller's own, with no other stream, no thread and no wait of the host;
// and afterwards the engine, and every library handle that it uses, is on its
// own stream again, whether the work succeeded, failed or threw.
//
//   absl::StatusOr<std::unique_ptr<StreamContext>> engine =
//       StreamContext::Create({/*device_ordinal=*/0});
//   if (!engine.ok()) return engine.status();
//   absl::Status added = (*engine)->AddLibrary("rocBLAS", [&](hipStream_t s) {
//     return ToStatus(rocblas_set_stream(rocblas, s));
//   });
//   ...
//   return (*engine)->RunAsync(callers_stream, [&](hipStream_t stream) {
//     return EnqueueModel(rocblas, stream);
//   });
//
// If the device is reset (see StreamHandleCache::Invalidate), the internal
// stream is gone: every call that needs it returns FailedPrecondition, and
// libraries are set to nullptr where they would go back to it. Make a new
// context.
//
// One thread at a time may use a context, through const members too; different
// contexts are independent.
#ifndef HIP_STREAM_POOL_STREAM_CONTEXT_H_
#define HIP_STREAM_POOL_STREAM_CONTEXT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/rocm_stream.h"
#include "hip_stream_pool/stream_key.h"

namespace hip_stream_pool {

class StreamContext;

// For as long as it lives, its context is bound to an external stream. Scopes
// nest. A scope must not outlive its context.
class [[nodiscard]] ExternalStreamScope {
 public:
  ExternalStreamScope(ExternalStreamScope&& other) noexcept;
  ExternalStreamScope& operator=(ExternalStreamScope&& other) noexcept;
  ExternalStreamScope(const ExternalStreamScope&) = delete;
  ExternalStreamScope& operator=(const ExternalStreamScope&) = delete;
  // Restore(), without its error.
  ~ExternalStreamScope();

  // Ends the binding: the context and its libraries go back to what is bound
  // around this scope, or to the internal stream. An error names the libraries
  // that refused; the next binding then sets every library anew. Does nothing
  // the second time.
  absl::Status Restore();

 private:
  friend class StreamContext;
  ExternalStreamScope(StreamContext* context, uint64_t binding)
      : context_(context), binding_(binding) {}

  // Restore, where the device is current.
  absl::Status End();

  StreamContext* context_;
  uint64_t binding_;
};

class StreamContext {
 public:
  // Takes the internal stream from the pool. Errors: see CreateStream.
  static absl::StatusOr<std::unique_ptr<StreamContext>> Create(
      const StreamKey& key);

  // Sets the libraries to the default stream, which outlives them, waits for
  // the internal stream's work and gives the stream back to the pool.
  ~StreamContext();
  StreamContext(const StreamContext&) = delete;
  StreamContext& operator=(const StreamContext&) = delete;

  // Where work goes now: the bound external stream, which may be nullptr, or
  // the internal one.
  hipStream_t stream() const;
  bool has_external_stream() const;

  // From now on the library follows stream(); it is set to it at once. If it
  // refuses, its error is returned and it is not added. `set_stream` is called
  // with the context's device current. It must not use the context, and must
  // not throw when it is set back: destructors call it.
  absl::Status AddLibrary(std::string name,
                          std::function<absl::Status(hipStream_t)> set_stream);

  // Binds the context and its libraries to a stream of the caller's on the
  // context's device; nullptr is the default stream. Makes no library call if
  // that stream is bound already. If a library refuses, those set before it go
  // back, and the error names it. Other errors:
  //   InvalidArgument     the stream is another device's (known from HIP 5.6),
  //                       or the legacy stream's handle: use nullptr
  //   FailedPrecondition  the stream does not exist
  // A stream in a capture can be bound: the work is captured too.
  absl::StatusOr<ExternalStreamScope> UseExternalStream(hipStream_t external);

  // Later work on the internal stream waits for the work on `external` so far.
  // `external` is a stream of the context's device; nullptr is the default
  // stream. Nothing is bound. If `external` is in a stream capture, the
  // internal stream joins it, as with hipStreamWaitEvent, and one HIP event is
  // never freed.
  absl::Status WaitFor(hipStream_t external) const;

  // Later work on `external` waits for the work on the internal stream so far,
  // otherwise as above. FailedPrecondition if `external` is in a stream capture
  // that the internal stream has not joined: HIP would not have the graph wait.
  absl::Status FinishOn(hipStream_t external) const;

  // Runs work(stream()) on the internal stream, also inside the scope of an
  // external one, and waits for what it enqueued; RunAsync runs it on the
  // caller's stream and waits for nothing. The context's device is current
  // meanwhile, and the caller's given back; the work leaves the device as it
  // finds it. Returns the first error, of the
  // work before others.
  absl::Status Run(absl::FunctionRef<absl::Status(hipStream_t)> work);
  absl::Status RunAsync(hipStream_t external,
                        absl::FunctionRef<absl::Status(hipStream_t)> work);

 private:
  friend class ExternalStreamScope;

  struct Library {
    // Calls the library unless it is known to be on the stream already.
    absl::Status Set(hipStream_t stream);

    std::string name;
    std::function<absl::Status(hipStream_t)> set_stream;
    std::optional<hipStream_t> set_to;  // nothing: not known
  };
  struct Binding {
    uint64_t number;
    std::optional<hipStream_t> external;  // nothing: the internal stream
  };

  explicit StreamContext(RocmStream internal)
      : internal_(std::move(internal)) {}

  absl::StatusOr<ExternalStreamScope> Bind(std::optional<hipStream_t> external);
  absl::Status Unbind(uint64_t binding);
  // `external` is the one of the two that is not the internal stream.
  absl::Status Order(const char* function, hipStream_t external,
                     hipStream_t first, hipStream_t then) const;

  RocmStream internal_;
  std::vector<Library> libraries_;
  std::vector<Binding> bindings_;  // the last one counts
  uint64_t next_binding_ = 0;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_STREAM_CONTEXT_H_
