// SPDX-License-Identifier: Apache-2.0
#include "preload/environment.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "stderr_line.h"

namespace hip_stream_pool {
namespace {

bool Equal(const char* a, const char* b) { return std::strcmp(a, b) == 0; }

bool ReadSwitch() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here sets variables.
  const char* text = std::getenv("HIP_STREAM_POOL_PRELOAD");
  if (text == nullptr || Equal(text, "on") || Equal(text, "1")) return true;
  if (Equal(text, "off") || Equal(text, "0")) return false;
  PrintLine(
      ": HIP_STREAM_POOL_PRELOAD is \"%s\", neither \"on\" nor \"off\"; using "
      "\"on\"",
      text);
  return true;
}

bool ReadSummary() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here sets variables.
  const char* text = std::getenv("HIP_STREAM_POOL_SUMMARY");
  return text != nullptr && *text != '\0' && !Equal(text, "0") &&
         !Equal(text, "off");
}

// Without the lock of a static variable, which a forked child may find taken.
class Once {
 public:
  template <typename Read>
  bool Get(Read read) {
    int state = state_.load(std::memory_order_relaxed);
    if (state == kUnknown) {
      state = read() ? kYes : kNo;
      state_.store(state, std::memory_order_relaxed);
    }
    return state == kYes;
  }

 private:
  enum { kUnknown, kYes, kNo };
  std::atomic<int> state_{kUnknown};
};

Once is_on;
Once is_summary_wanted;

}  // namespace

bool IsSwitchedOn() { return is_on.Get(ReadSwitch); }

bool IsSummaryWanted() { return is_summary_wanted.Get(ReadSummary); }

}  // namespace hip_stream_pool
