// SPDX-License-Identifier: Apache-2.0
//
// A system without memory: the bookkeeping ends the process, and never throws
// half-way through a change.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "gtest/gtest.h"
#include "pool/handle_store.h"

#ifdef __cpp_exceptions
namespace {

// How many allocations succeed before one fails; -1 for all.
thread_local int64_t succeed = -1;

void* Allocate(size_t size) {
  if (succeed >= 0 && succeed-- == 0) {
    throw std::bad_alloc();
  }
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
// Not inline: the compiler would see a free of what no malloc gave.
__attribute__((noinline)) void operator delete(void* memory) noexcept {
  std::free(memory);
}
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace hip_stream_pool {
namespace {

enum Outcome { kDone = 0, kThrew = 1 };

// Enters handles until one more would find no memory after `allocations`.
[[noreturn]] void AddInChild(int handles, int64_t allocations) {
  Counters counters;
  HandleStore store(counters);
  HandleStore::Ticket ticket;
  uintptr_t handle = 0;
  const auto add = [&] {
    store.Add(reinterpret_cast<void*>(++handle * 16), StreamKey(), 0, &ticket);
  };
  for (int i = 0; i < handles; ++i) add();
  try {
    succeed = allocations;
    add();
  } catch (const std::bad_alloc&) {
    _exit(kThrew);
  }
  _exit(kDone);
}

TEST(BadAllocTest, TheBookkeepingEndsTheProcessAndDoesNotThrow) {
  int aborted = 0;
  for (int handles : {0, 1, 2, 7, 8, 15}) {
    for (int64_t allocations = 0; allocations < 12; ++allocations) {
      const pid_t child = fork();
      if (child == 0) AddInChild(handles, allocations);
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      if (WIFSIGNALED(status)) {
        EXPECT_EQ(WTERMSIG(status), SIGABRT);
        ++aborted;
      } else {
        EXPECT_EQ(WEXITSTATUS(status), kDone) << "it threw";
      }
    }
  }
  EXPECT_GT(aborted, 6) << "the first handle alone needs several allocations";
}

}  // namespace
}  // namespace hip_stream_pool
#endif  // __cpp_exceptions
