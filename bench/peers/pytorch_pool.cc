// SPDX-License-Identifier: Apache-2.0
//
// What PyTorch's own pool of streams costs, for the table of stream_benchmark.
// It deals out 32 streams for each priority in turn, for ever: what it returns
// may be in use elsewhere, and dropping it does nothing.
//
// Not built here. tests/hip_over_cuda/run_on_cuda.sh builds and runs it where
// PyTorch is installed.
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace {

constexpr int kDevice = 0;
constexpr int kRounds = 101;
constexpr int kCallsARound = 112 * 100;

c10::cuda::CUDAStream Take() {
  return c10::cuda::getStreamFromPool(/*isHighPriority=*/false, kDevice);
}

// Prints the median time of a call.
template <typename Call>
void Measure(const char* name, Call call) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> nanoseconds;
  for (int round = 0; round < kRounds; ++round) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kCallsARound; ++i) call();
    const std::chrono::duration<double, std::nano> time = Clock::now() - start;
    nanoseconds.push_back(time.count() / kCallsARound);
  }
  std::sort(nanoseconds.begin(), nanoseconds.end());
  std::printf("%-52s %7.1f ns (%.1f to %.1f)\n", name, nanoseconds[kRounds / 2],
              nanoseconds.front(), nanoseconds.back());
}

}  // namespace

int main() {
  volatile bool idle = false;
  const cudaStream_t stream = Take().stream();  // makes the pool
  Measure("PyTorch's pool: take and drop", [] { (void)Take().stream(); });
  Measure("PyTorch's pool: take, query and drop",
          [&] { idle = Take().query(); });
  // To compare with what stream_benchmark calls by way of HIP.
  Measure("cudaStreamQuery alone",
          [&] { idle = cudaStreamQuery(stream) == cudaSuccess; });
  Measure("cudaGetDevice and cudaStreamGetFlags", [&] {
    int device = 0;
    unsigned int flags = 0;
    cudaGetDevice(&device);
    idle = cudaStreamGetFlags(stream, &flags) == cudaSuccess;
  });
  return 0;
}
