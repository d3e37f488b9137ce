// SPDX-License-Identifier: Apache-2.0
//
// The handles of streams. CUDA doesn't say whether a handle is one of a live
// stream, and AMD's HIP does; so a handle here is the address of an entry in a
// table of the library's own, which knows. An address that is freed is the
// first to be used again, as with AMD's streams, which come from malloc.
//
// nullptr, the legacy stream (1) and hipStreamPerThread (2) are CUDA's own
// values, and stay what they are.
#ifndef HIP_STREAM_POOL_TESTS_HIP_OVER_CUDA_STREAMS_H_
#define HIP_STREAM_POOL_TESTS_HIP_OVER_CUDA_STREAMS_H_

#include <atomic>
#include <cstdint>

#include "cuda_runtime.h"
#include "errors.h"
#include "hip/hip_runtime_api.h"

namespace hip_over_cuda {

struct alignas(32) StreamEntry {
  std::atomic<bool> alive{false};
  int device = 0;
  cudaStream_t cuda = nullptr;
  StreamEntry* next_free = nullptr;
};

inline constexpr uintptr_t kMaxStreams = 1 << 16;
extern StreamEntry stream_table[kMaxStreams];

inline bool IsSpecialStream(hipStream_t stream) {
  return reinterpret_cast<uintptr_t>(stream) <= 2;
}

// nullptr if no stream that is alive has the handle.
inline StreamEntry* FindEntry(hipStream_t stream) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(stream) -
                           reinterpret_cast<uintptr_t>(stream_table);
  if (offset >= sizeof(stream_table) || offset % sizeof(StreamEntry) != 0) {
    return nullptr;
  }
  StreamEntry* const entry = &stream_table[offset / sizeof(StreamEntry)];
  return entry->alive.load(std::memory_order_acquire) ? entry : nullptr;
}

// nullptr if there are kMaxStreams.
hipStream_t AddStream(cudaStream_t stream, int device);

// Returns false if no stream that is alive has the handle.
bool RemoveStream(hipStream_t stream);

void RemoveStreamsOf(int device);

// The answer to a call: function(runtime) is what CUDA says.
template <typename Function>
hipError_t WithCuda(Function function) {
  const CudaRuntime* const cuda = GetCudaRuntime();
  if (cuda == nullptr) return Answer(hipErrorNoDevice);
  return AnswerOfCuda(function(*cuda));
}

// The answer to a call with a stream: function(runtime, stream) is what CUDA
// says.
template <typename Function>
hipError_t WithStream(hipStream_t stream, Function function) {
  const CudaRuntime* const cuda = GetCudaRuntime();
  if (cuda == nullptr) return Answer(hipErrorNoDevice);
  if (IsSpecialStream(stream)) {
    return AnswerOfCuda(
        function(*cuda, reinterpret_cast<cudaStream_t>(stream)));
  }
  const StreamEntry* const entry = FindEntry(stream);
  if (entry == nullptr) return Answer(hipErrorContextIsDestroyed);
  return AnswerOfCuda(function(*cuda, entry->cuda));
}

}  // namespace hip_over_cuda

#endif  // HIP_STREAM_POOL_TESTS_HIP_OVER_CUDA_STREAMS_H_
