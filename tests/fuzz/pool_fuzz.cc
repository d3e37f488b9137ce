// SPDX-License-Identifier: Apache-2.0
//
// A libFuzzer target: the bytes of an input choose calls of the pool, good and
// bad, which are checked against the model.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "pool_model.h"

namespace hip_stream_pool {
namespace {

// Numbers from an input, one byte each; zeros behind its end.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : next_(data), end_(data + size) {}

  bool AtEnd() const { return next_ == end_; }
  int Below(int n) { return AtEnd() ? 0 : *next_++ % n; }

 private:
  const uint8_t* next_;
  const uint8_t* const end_;
};

void RunOne(Choices choices) {
  using Operation = PoolModel::Operation;
  PoolModel model(/*failures=*/choices.Below(2) != 0, /*owners=*/1);
  PoolModel::Owner& owner = model.owner(0);
  owner.below = [&choices](int n) { return choices.Below(n); };
  while (!choices.AtEnd()) {
    model.Do(static_cast<Operation>(
                 choices.Below(static_cast<int>(Operation::kCount))),
             owner);
  }
  model.Finish();
  const std::vector<std::string> faults = model.faults();
  for (const std::string& fault : faults) {
    std::fprintf(stderr, "FAULT: %s\n", fault.c_str());
  }
  if (!faults.empty()) std::abort();
}

}  // namespace
}  // namespace hip_stream_pool

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hip_stream_pool::RunOne({data, size});
  return 0;
}
