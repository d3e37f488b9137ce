// SPDX-License-Identifier: Apache-2.0
#include "process_pool.h"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>

#include "stderr_line.h"

namespace hip_stream_pool {
namespace {

// One client of eight devices has 14 streams of a key on each; see README.
constexpr int kDefaultLimit = 128;

int ReadLimit() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here sets variables.
  const char* text = std::getenv("HIP_STREAM_POOL_MAX_PARKED");
  if (text == nullptr) return kDefaultLimit;
  int limit = 0;
  const char* const end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, limit);
  if (read.ec == std::errc() && read.ptr == end && limit >= 0) return limit;
  PrintLine(
      ": HIP_STREAM_POOL_MAX_PARKED is \"%s\", not a number from 0 up; using "
      "%d",
      text, kDefaultLimit);
  return kDefaultLimit;
}

std::atomic<Pool*> process_pool{nullptr};

// Without the lock of a static variable, which a forked child may find taken.
Pool& MakeProcessPool() {
  Pool* pool = nullptr;
  auto made = std::make_unique<Pool>(ReadLimit());
  // Of threads that get here at once, the first one's stays.
  if (process_pool.compare_exchange_strong(pool, made.get(),
                                           std::memory_order_acq_rel)) {
    pool = made.release();
  }
  return *pool;
}

}  // namespace

Pool& ProcessPool() {
  Pool* const known = process_pool.load(std::memory_order_acquire);
  return known != nullptr ? *known : MakeProcessPool();
}

}  // namespace hip_stream_pool
