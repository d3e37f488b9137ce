// SPDX-License-Identifier: Apache-2.0
//
// The entry point that simulated_hsa.h looks up.

#include "queues.h"
#include "runtime.h"
#include "simulated_hsa.h"

namespace simulated_hsa {
namespace {

class RuntimeControl final : public Control {
 public:
  int DeviceCount() const override { return settings().device_count(); }

  Counters ReadCounters() const override {
    const AtomicCounters& from = Runtime::Get().counters();
    Counters to;
    to.queues_created = from.queues_created;
    to.queues_destroyed = from.queues_destroyed;
    to.queue_changes = from.queue_changes;
    to.allocations = from.allocations;
    to.frees = from.frees;
    to.access_grants = from.access_grants;
    to.locks = from.locks;
    to.unlocks = from.unlocks;
    to.signals_created = from.signals_created;
    to.signals_destroyed = from.signals_destroyed;
    to.blocking_waits = from.blocking_waits;
    to.handlers_added = from.handlers_added;
    to.handlers_run = from.handlers_run;
    to.copies = from.copies;
    to.copied_bytes = from.copied_bytes;
    to.dispatches = from.dispatches;
    to.barriers = from.barriers;
    to.live_bytes = from.live_bytes;
    return to;
  }

  std::vector<HardwareQueue> ReadQueues() const override {
    return Queue::DescribeAll();
  }

  Model GetModel() const override { return settings().model(); }
  void SetModel(const Model& model) override { settings().set_model(model); }

  void FailQueueCreate(int64_t nth) override {
    settings().queue_create_failure().Set(nth);
  }
  void FailAllocate(int64_t nth) override {
    settings().allocate_failure().Set(nth);
  }

  void Hold() override { settings().gate().Close(); }
  void Release() override { settings().gate().Open(); }

  std::string Describe() const override { return settings().Describe(); }

 private:
  static Settings& settings() { return Runtime::Get().settings(); }
};

}  // namespace
}  // namespace simulated_hsa

extern "C" simulated_hsa::Control* simulated_hsa_control() {
  static simulated_hsa::RuntimeControl control;
  return &control;
}
