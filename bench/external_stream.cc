// SPDX-License-Identifier: Apache-2.0
#include "external_stream.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/rocm_stream.h"
#include "hip_stream_pool/stream_context.h"
#include "meters.h"

namespace hip_stream_pool {
namespace {

// A context, a caller's stream, and libraries that keep a stream as rocBLAS
// does: by storing it.
class Engine {
 public:
  static absl::StatusOr<std::unique_ptr<Engine>> Create(int libraries) {
    absl::StatusOr<RocmStream> callers = RocmStream::Create({0, 1, 0});
    if (!callers.ok()) return callers.status();
    absl::StatusOr<std::unique_ptr<StreamContext>> context =
        StreamContext::Create({0, 1, 0});
    if (!context.ok()) return context.status();
    auto engine = std::make_unique<Engine>();
    engine->callers_ = *std::move(callers);
    engine->context_ = *std::move(context);
    for (int i = 0; i < libraries; ++i) {
      absl::Status added = engine->context_->AddLibrary(
          absl::StrCat("library ", i), [engine = engine.get()](hipStream_t s) {
            engine->librarys_stream_ = s;
            ++engine->library_calls_;
            return absl::OkStatus();
          });
      if (!added.ok()) return added;
    }
    engine->library_calls_ = 0;
    return engine;
  }

  absl::Status BindAndRestore() {
    absl::StatusOr<ExternalStreamScope> scope =
        context_->UseExternalStream(callers_->handle());
    if (!scope.ok()) return scope.status();
    return scope->Restore();
  }

  absl::Status RunNothing() {
    return context_->RunAsync(callers_->handle(), [](hipStream_t stream) {
      benchmark::DoNotOptimize(stream);
      return absl::OkStatus();
    });
  }

  // The HIP calls of RunNothing, and no more.
  absl::Status HipCallsAlone() {
    int device = 0;
    hipError_t error = hipGetDevice(&device);
#if HIP_VERSION >= 50600000
    hipDevice_t streams = 0;
    if (error == hipSuccess) {
      error = hipStreamGetDevice(callers_->handle(), &streams);
    }
    benchmark::DoNotOptimize(streams);
#else
    int priority = 0;
    if (error == hipSuccess) {
      error = hipStreamGetPriority(callers_->handle(), &priority);
    }
    benchmark::DoNotOptimize(priority);
#endif
    benchmark::DoNotOptimize(device);
    return error == hipSuccess ? absl::OkStatus()
                               : absl::InternalError(hipGetErrorName(error));
  }

  int64_t library_calls() const { return library_calls_; }

 private:
  std::optional<RocmStream> callers_;
  std::unique_ptr<StreamContext> context_;
  hipStream_t librarys_stream_ = nullptr;
  int64_t library_calls_ = 0;
};

void Measure(benchmark::State& state, int libraries, int calls_an_iteration,
             absl::Status (Engine::*operation)()) {
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create(libraries);
  absl::Status status = engine.status();
  if (status.ok()) {
    for (auto _ : state) {
      status = (**engine.*operation)();
      if (!status.ok()) break;
    }
  }
  if (!status.ok()) return Fail(state, status.ToString());
  if ((*engine)->library_calls() !=
      state.iterations() * libraries * calls_an_iteration) {
    return Fail(state, "the libraries were not set and set back each time");
  }
}

Table::Cell Register(const std::string& name, int libraries, int calls,
                     absl::Status (Engine::*operation)()) {
  const std::string full = absl::StrCat(name, "/libraries:", libraries);
  benchmark::RegisterBenchmark(full.c_str(), [=](benchmark::State& state) {
    Measure(state, libraries, calls, operation);
  })->UseRealTime();
  return Table::Cell::Time(full);
}

}  // namespace

Table::Section RegisterExternalStream() {
  Table::Section section;
  section.title = "Running on a caller's stream (StreamContext), nothing to do";
  section.note =
      "2 HIP calls: hipGetDevice, and one that sees whether the stream exists";
  section.headings = {"libraries", "bind + restore", "RunAsync"};
  for (int libraries : {0, 1, 4}) {
    section.rows.push_back(
        {Table::Cell::Text(absl::StrCat(libraries)),
         Register("bind_and_restore", libraries, 2, &Engine::BindAndRestore),
         Register("run_async", libraries, 2, &Engine::RunNothing)});
  }
  const Table::Cell alone =
      Register("run_async_hip_calls_alone", 0, 0, &Engine::HipCallsAlone);
  section.rows.push_back(
      {Table::Cell::Text("the 2 HIP calls alone"), alone, alone});
  return section;
}

}  // namespace hip_stream_pool
