// SPDX-License-Identifier: Apache-2.0
#include "max_parked.h"

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace hip_stream_pool {
namespace {

constexpr int kDefault = 32;

int ReadEnvironment() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here sets variables.
  const char* text = std::getenv("HIP_STREAM_POOL_MAX_PARKED");
  if (text == nullptr) return kDefault;
  int limit = 0;
  const char* const end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, limit);
  if (read.ec != std::errc() || read.ptr != end || limit < 0) {
    std::fprintf(stderr,
                 "hip-stream-pool: HIP_STREAM_POOL_MAX_PARKED is \"%s\", not a "
                 "number from 0 up; using %d\n",
                 text, kDefault);
    return kDefault;
  }
  return limit;
}

}  // namespace

int internal::LearnMaxParked() {
  int known = -1;
  const int read = ReadEnvironment();
  return max_parked.compare_exchange_strong(known, read) ? read : known;
}

void SetMaxParked(int limit) {
  internal::max_parked.store(limit, std::memory_order_relaxed);
}

}  // namespace hip_stream_pool
