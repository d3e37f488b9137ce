// SPDX-License-Identifier: Apache-2.0

#include "settings.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

namespace simulated_hsa {
namespace {

struct CostName {
  const char* variable;
  const char* words;
  Settings::Cost cost;
};

constexpr CostName kCosts[] = {
    {"SIMULATED_HSA_COPY_US", "copy", &Model::copy},
    {"SIMULATED_HSA_DISPATCH_US", "dispatch", &Model::dispatch},
    {"SIMULATED_HSA_QUEUE_CREATE_US", "queue create", &Model::queue_create},
    {"SIMULATED_HSA_QUEUE_DESTROY_US", "queue destroy", &Model::queue_destroy},
    {"SIMULATED_HSA_ALLOCATE_US", "allocate", &Model::allocate},
    {"SIMULATED_HSA_FREE_US", "free", &Model::free},
    {"SIMULATED_HSA_SIGNAL_CREATE_US", "signal create", &Model::signal_create},
    {"SIMULATED_HSA_SIGNAL_DESTROY_US", "signal destroy",
     &Model::signal_destroy},
};

}  // namespace

bool FailurePoint::ShouldFail() {
  int64_t left = left_;
  while (left > 0 && !left_.compare_exchange_weak(left, left - 1)) {
  }
  return left == 1 || left == Control::kAll;
}

bool Gate::Blocks(EventLoop* loop, Task* task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) blocked_.emplace_back(loop, task);
  return closed_;
}

void Gate::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
}

void Gate::Open() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = false;
  for (const auto& [loop, task] : blocked_) loop->Post(task);
  blocked_.clear();
}

void Gate::Forget(Task* task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  blocked_.erase(
      std::remove_if(blocked_.begin(), blocked_.end(),
                     [&](const auto& item) { return item.second == task; }),
      blocked_.end());
}

Settings::Settings() {
  device_count_ =
      static_cast<int>(ReadNumber("SIMULATED_HSA_DEVICES", 2, 1, 64));
  trace_ = std::getenv("SIMULATED_HSA_TRACE") != nullptr;
  for (const CostName& name : kCosts) {
    constexpr double kMostUs = 60e6;
    const double us = ReadNumber(name.variable, 0, 0, kMostUs);
    model_.*name.cost =
        std::chrono::nanoseconds(static_cast<int64_t>(us * 1e3));
  }
  ReadFailure("SIMULATED_HSA_FAIL_QUEUE_CREATE", &queue_create_failure_);
  ReadFailure("SIMULATED_HSA_FAIL_ALLOCATE", &allocate_failure_);
}

double Settings::ReadNumber(const char* name, double unset, double least,
                            double most) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return unset;
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(number >= least && number <= most)) {
    std::fprintf(stderr, "%s: \"%s\" is not a number from %g to %g\n", name,
                 text, least, most);
    valid_ = false;
    return unset;
  }
  return number;
}

void Settings::ReadFailure(const char* name, FailurePoint* point) {
  const char* const text = std::getenv(name);
  if (text != nullptr && std::strcmp(text, "all") == 0) {
    point->Set(Control::kAll);
  } else {
    point->Set(static_cast<int64_t>(ReadNumber(name, 0, 0, 1e9)));
  }
}

Model Settings::model() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return model_;
}

void Settings::set_model(const Model& model) {
  const std::lock_guard<std::mutex> lock(mutex_);
  model_ = model;
}

std::string Settings::Describe() const {
  const Model model = this->model();
  std::ostringstream text;
  text << device_count_ << (device_count_ == 1 ? " device" : " devices");
  for (const CostName& name : kCosts) {
    const std::chrono::duration<double, std::micro> us = model.*name.cost;
    text << ", " << name.words << " " << us.count() << " us";
  }
  return text.str();
}

void Settings::Spend(Cost cost) const {
  const std::chrono::nanoseconds time = Get(cost);
  if (time <= time.zero()) return;
  const Clock::time_point end = Clock::now() + time;
  // A thread that sleeps wakes some 60 us late, so the last part is spun.
  constexpr auto kSpin = std::chrono::microseconds(100);
  if (time > kSpin) std::this_thread::sleep_until(end - kSpin);
  while (Clock::now() < end) {
  }
}

}  // namespace simulated_hsa
