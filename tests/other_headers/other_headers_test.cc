// SPDX-License-Identifier: Apache-2.0
//
// What is built with the headers of one HIP uses what another has, which is the
// one that is loaded. Prints a line, and exits with 1 if that is not so.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "hip/hip.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/create_stream.h"
#include "hip_stream_pool/stream_handle_cache.h"

namespace hip_stream_pool {
namespace {

void Check(bool ok, const char* what) {
  if (ok) return;
  std::printf("wrong: %s\n", what);
  std::exit(1);
}

hipStream_t Create() {
  absl::StatusOr<hipStream_t> stream = CreateStream({});
  Check(stream.ok(), "CreateStream");
  return *stream;
}

// A parked stream is destroyed without the pool, and HIP gives its handle to a
// stream of somebody else. Only an identity tells that from the parked one.
bool IsTakenForTheParkedOne() {
  hipStream_t parked = Create();
  Check(DestroyStream(0, parked).ok(), "DestroyStream");
  Check(hipStreamDestroy(parked) == hipSuccess, "hipStreamDestroy");
  hipStream_t another = nullptr;
  std::vector<hipStream_t> others;
  for (int i = 0; i < 1000 && another != parked; ++i) {
    Check(hipStreamCreate(&another) == hipSuccess, "hipStreamCreate");
    others.push_back(another);
  }
  Check(another == parked, "HIP did not give the handle again");
  return Create() == another;
}

void Run() {
  hipStream_t stream = Create();
  Check(DestroyStream(0, stream).ok(), "DestroyStream");
  Check(Create() == stream, "a parked stream is used again");

  const Hip& hip = *KnownHip();
  const bool has_identities = hip.version >= 70100000;
  Check(static_cast<bool>(hip.functions.hipStreamGetId) == has_identities,
        "hipStreamGetId");
  Check(static_cast<bool>(hip.functions.hipStreamGetDevice) ==
            (hip.version >= 50600000),
        "hipStreamGetDevice");
  Check(IsTakenForTheParkedOne() != has_identities, "identities");
  std::printf("built with the headers of HIP %d, runs on HIP %d: OK\n",
              HIP_VERSION, hip.version);
}

}  // namespace
}  // namespace hip_stream_pool

int main() {
  hip_stream_pool::Run();
  std::fflush(stdout);
  // Streams were destroyed without the pool, and their handles used again.
  std::quick_exit(0);
}
