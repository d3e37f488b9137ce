// SPDX-License-Identifier: Apache-2.0
//
// What the tests of SequencingEvent and TrackedBuffer over the scripted HIP
// share.
#ifndef HIP_STREAM_POOL_TESTS_SEQUENCING_TESTING_H_
#define HIP_STREAM_POOL_TESTS_SEQUENCING_TESTING_H_

#include <chrono>
#include <future>

#include "pool_test.h"

namespace hip_stream_pool {

// Holds a call of that name up, before it takes effect, until it is let go. One
// call: no other is to be made meanwhile.
class HeldCall {
 public:
  explicit HeldCall(const char* name) : name_(name) {
    scripted_hip::ScriptedHip::Get().During(name, [this] {
      called_.set_value();
      let_go_.get_future().wait();
    });
  }
  ~HeldCall() { scripted_hip::ScriptedHip::Get().During(name_, nullptr); }
  HeldCall(const HeldCall&) = delete;
  HeldCall& operator=(const HeldCall&) = delete;

  void AwaitCall() { called_.get_future().wait(); }
  void LetGo() { let_go_.set_value(); }

 private:
  const char* const name_;
  std::promise<void> called_;
  std::promise<void> let_go_;
};

// Whether it has the result within a time in which nothing that does not block
// can fail to have it.
template <typename Future>
bool IsReadySoon(const Future& future) {
  return future.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
}

// Whether it has it now, when what does not block has had a moment's time.
template <typename Future>
bool IsReadyAlready(const Future& future) {
  return future.wait_for(std::chrono::milliseconds(10)) ==
         std::future_status::ready;
}

class SequencingTest : public PoolTest {
 protected:
  const absl::Status kError = absl::DataLossError("the producer's own");
  char memory_[64] = {};  // which HIP, as scripted, never touches
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_TESTS_SEQUENCING_TESTING_H_
