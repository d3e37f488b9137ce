// SPDX-License-Identifier: Apache-2.0
#include "allocations.h"

#include <cstddef>

namespace hip_stream_pool {
namespace {

thread_local int64_t allocations = 0;

}  // namespace

int64_t AllocationsOfThisThread() { return allocations; }

}  // namespace hip_stream_pool

// A program's own malloc comes before the C library's, whose own it then is
// that does the work (and whose free takes it back).
extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier)
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
// NOLINTEND(bugprone-reserved-identifier)

void* malloc(size_t size) {
  ++hip_stream_pool::allocations;
  return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  ++hip_stream_pool::allocations;
  return __libc_calloc(count, size);
}

void* realloc(void* memory, size_t size) {
  ++hip_stream_pool::allocations;
  return __libc_realloc(memory, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  ++hip_stream_pool::allocations;
  return __libc_memalign(alignment, size);
}

}  // extern "C"
