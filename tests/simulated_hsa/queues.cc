// SPDX-License-Identifier: Apache-2.0

#include "queues.h"

#include <hsa/hsa_ext_amd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "agents.h"
#include "executables.h"
#include "runtime.h"

namespace simulated_hsa {
namespace {

struct QueueList {
  std::mutex mutex;
  std::vector<Queue*> queues;  // in the order of their creation
};

QueueList& LiveQueues() {
  static QueueList* const list = new QueueList;
  return *list;
}

int64_t NextNumber() {
  static std::atomic<int64_t> last{0};
  return ++last;
}

int PacketType(uint16_t header) {
  return (header >> HSA_PACKET_HEADER_TYPE) &
         ((1 << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
}

}  // namespace

// One of the ring's 64-byte places.
struct Queue::Slot {
  union {
    uint16_t header;
    hsa_kernel_dispatch_packet_t dispatch;
    hsa_barrier_and_packet_t barrier;
    hsa_amd_barrier_value_packet_t barrier_value;
  };

  uint16_t LoadHeader() const {
    return __atomic_load_n(&header, __ATOMIC_ACQUIRE);
  }
  // The ring comes zeroed from calloc, whose pages cost nothing until they are
  // written. No packet has a header of zero, so that too marks a free place.
  bool IsFree() const {
    const uint16_t value = LoadHeader();
    return value == 0 || PacketType(value) == HSA_PACKET_TYPE_INVALID;
  }
  void Free() {
    __atomic_store_n(&header, uint16_t{HSA_PACKET_TYPE_INVALID},
                     __ATOMIC_RELEASE);
  }
  // All kinds of packets have it in the same place.
  hsa_signal_t completion() const { return barrier.completion_signal; }
};

void Queue::FreeSlots::operator()(Slot* slots) const { std::free(slots); }

Queue::Queue(int device, hsa_queue_type32_t type, uint32_t size)
    : slots_(static_cast<Slot*>(std::calloc(size, sizeof(Slot)))),
      loop_(Runtime::Get().device(device).packets),
      number_(NextNumber()),
      device_(device) {
  static_assert(sizeof(Slot) == 64, "AQL packets have 64 bytes");
  abi_.owner = this;
  abi_.queue.hsa_queue.type = type;
  abi_.queue.hsa_queue.features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
  abi_.queue.hsa_queue.base_address = slots_.get();
  abi_.queue.hsa_queue.doorbell_signal = doorbell_.handle();
  abi_.queue.hsa_queue.size = size;
  abi_.queue.hsa_queue.id = static_cast<uint64_t>(number_);
  doorbell_.set_queue(this);
  QueueList& list = LiveQueues();
  const std::lock_guard<std::mutex> lock(list.mutex);
  list.queues.push_back(this);
}

Queue::~Queue() {
  {
    QueueList& list = LiveQueues();
    const std::lock_guard<std::mutex> lock(list.mutex);
    list.queues.erase(std::find(list.queues.begin(), list.queues.end(), this));
  }
  // First nothing runs any more, then nothing that could still post is left.
  destroyed_ = true;
  CancelTasks();
  Runtime::Get().settings().gate().Forget(this);
  signals_.Cancel();
  CancelTasks();
}

void Queue::CancelTasks() {
  loop_.Cancel(&signals_met_task_);
  loop_.Cancel(this);
}

Queue* Queue::From(const hsa_queue_t* queue) {
  return reinterpret_cast<const Abi*>(queue)->owner;
}

void Queue::Ring(int64_t packet_index) {
  int64_t last = last_rung_;
  while (last < packet_index &&
         !last_rung_.compare_exchange_weak(last, packet_index)) {
  }
  loop_.Post(this);
}

uint64_t Queue::read_index() const {
  return __atomic_load_n(&abi_.queue.read_dispatch_id, __ATOMIC_ACQUIRE);
}

uint64_t Queue::write_index() const {
  return __atomic_load_n(&abi_.queue.write_dispatch_id, __ATOMIC_ACQUIRE);
}

uint64_t Queue::AddWriteIndex(uint64_t count) {
  return __atomic_fetch_add(&abi_.queue.write_dispatch_id, count,
                            __ATOMIC_ACQ_REL);
}

HardwareQueue Queue::Describe() const {
  return HardwareQueue{number_, device_, priority_, has_cu_mask_, packets_};
}

std::vector<HardwareQueue> Queue::DescribeAll() {
  QueueList& list = LiveQueues();
  const std::lock_guard<std::mutex> lock(list.mutex);
  std::vector<HardwareQueue> all;
  for (const Queue* queue : list.queues) all.push_back(queue->Describe());
  return all;
}

void Queue::DestroySignal(Signal* signal) {
  if (signal->Load() != 0) {
    const std::lock_guard<std::mutex> lock(LiveQueues().mutex);
    if (AnyCompletes(signal->handle())) {
      signal->Orphan();
      return;
    }
  }
  delete signal;
}

bool Queue::AnyCompletes(hsa_signal_t signal) {
  const std::vector<Queue*>& queues = LiveQueues().queues;
  return std::any_of(
      queues.begin(), queues.end(),
      [signal](const Queue* queue) { return queue->Completes(signal); });
}

bool Queue::Completes(hsa_signal_t signal) const {
  const uint64_t mask = abi_.queue.hsa_queue.size - 1;
  const uint64_t end = write_index();
  for (uint64_t index = read_index(); index < end; ++index) {
    const Slot& slot = slots_[index & mask];
    if (!slot.IsFree() && slot.completion().handle == signal.handle) {
      return true;
    }
  }
  return false;
}

void Queue::Run() {
  const uint64_t mask = abi_.queue.hsa_queue.size - 1;
  for (;;) {
    const uint64_t index = read_index();
    if (destroyed_ || static_cast<int64_t>(index) > last_rung_) return;
    // With several producers a later one may have rung first.
    Slot* const slot = &slots_[index & mask];
    if (slot->IsFree()) return;
    if (!started_) Start(*slot);
    if (!Proceed(*slot)) return;
    Finish(slot);
  }
}

void Queue::SignalsMet::Run() {
  queue_->signals_met_ = true;
  queue_->Run();
}

void Queue::Start(const Slot& slot) {
  started_ = true;
  due_ = start_ = Clock::now();
  std::vector<SignalWait::Target> targets;
  switch (PacketType(slot.LoadHeader())) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
      due_ += Runtime::Get().settings().Get(&Model::dispatch);
      return;
    case HSA_PACKET_TYPE_BARRIER_AND:
      for (const hsa_signal_t signal : slot.barrier.dep_signal) {
        if (signal.handle != 0) targets.push_back({signal, {}});
      }
      break;
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC: {
      const hsa_amd_barrier_value_packet_t& packet = slot.barrier_value;
      if (packet.header.AmdFormat == HSA_AMD_PACKET_TYPE_BARRIER_VALUE) {
        targets.push_back({packet.signal,
                           {static_cast<hsa_signal_condition_t>(packet.cond),
                            packet.value, packet.mask}});
        break;
      }
      [[fallthrough]];
    }
    default:
      std::fprintf(stderr,
                   "simulated HSA: packet header %#x is not simulated\n",
                   slot.LoadHeader());
      std::abort();
  }
  signals_met_ =
      targets.empty() || signals_.Start(targets, &loop_, &signals_met_task_);
}

bool Queue::Proceed(const Slot& slot) {
  if (PacketType(slot.LoadHeader()) != HSA_PACKET_TYPE_KERNEL_DISPATCH) {
    return signals_met_;
  }
  if (Clock::now() < due_) {
    loop_.PostAt(this, due_);
    return false;
  }
  if (Runtime::Get().settings().gate().Blocks(&loop_, this)) return false;
  RunKernel(slot.dispatch);
  return true;
}

void Queue::Finish(Slot* slot) {
  AtomicCounters& counters = Runtime::Get().counters();
  const bool is_kernel =
      PacketType(slot->LoadHeader()) == HSA_PACKET_TYPE_KERNEL_DISPATCH;
  ++(is_kernel ? counters.dispatches : counters.barriers);
  ++packets_;
  started_ = false;

  // Who waits for the signal may use the slot again, so the slot goes first.
  // The lock is for DestroySignal: a packet either has a slot, or is done.
  const std::lock_guard<std::mutex> lock(LiveQueues().mutex);
  const hsa_signal_t completion = slot->completion();
  slot->Free();
  __atomic_fetch_add(&abi_.queue.read_dispatch_id, 1, __ATOMIC_RELEASE);
  if (completion.handle == 0) return;
  Signal* const signal = Signal::From(completion);
  // One that is none may be gone as soon as it is complete.
  const bool is_orphan = signal->is_orphan();
  signal->Complete(start_, Clock::now());
  if (is_orphan && !AnyCompletes(completion)) delete signal;
}

}  // namespace simulated_hsa

using simulated_hsa::Queue;
using simulated_hsa::Runtime;

namespace {

// Tells the HIP runtime's second, third ... attempt to create a queue from
// another creation: it halves the size after each failure.
bool ShouldFailCreation(uint32_t size) {
  thread_local uint32_t failed_size = 0;
  const bool fails =
      (failed_size != 0 && size < failed_size) ||
      Runtime::Get().settings().queue_create_failure().ShouldFail();
  failed_size = fails ? size : 0;
  return fails;
}

}  // namespace

hsa_status_t hsa_queue_create(hsa_agent_t agent, uint32_t size,
                              hsa_queue_type32_t type,
                              void (*)(hsa_status_t, hsa_queue_t*, void*),
                              void*, uint32_t, uint32_t, hsa_queue_t** queue) {
  if (!simulated_hsa::IsGpu(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
  Runtime& runtime = Runtime::Get();
  runtime.settings().Spend(&simulated_hsa::Model::queue_create);
  if (ShouldFailCreation(size)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  *queue =
      (new Queue(simulated_hsa::DeviceOrdinal(agent), type, size))->handle();
  ++runtime.counters().queues_created;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_queue_destroy(hsa_queue_t* queue) {
  Runtime& runtime = Runtime::Get();
  runtime.settings().Spend(&simulated_hsa::Model::queue_destroy);
  delete Queue::From(queue);
  ++runtime.counters().queues_destroyed;
  return HSA_STATUS_SUCCESS;
}

uint64_t hsa_queue_load_read_index_relaxed(const hsa_queue_t* queue) {
  return Queue::From(queue)->read_index();
}

uint64_t hsa_queue_load_read_index_scacquire(const hsa_queue_t* queue) {
  return Queue::From(queue)->read_index();
}

uint64_t hsa_queue_load_write_index_relaxed(const hsa_queue_t* queue) {
  return Queue::From(queue)->write_index();
}

uint64_t hsa_queue_add_write_index_screlease(const hsa_queue_t* queue,
                                             uint64_t count) {
  return Queue::From(queue)->AddWriteIndex(count);
}

hsa_status_t hsa_amd_queue_set_priority(hsa_queue_t* queue,
                                        hsa_amd_queue_priority_t priority) {
  using simulated_hsa::QueuePriority;
  ++Runtime::Get().counters().queue_changes;
  Queue::From(queue)->set_priority(
      priority == HSA_AMD_QUEUE_PRIORITY_LOW    ? QueuePriority::kLow
      : priority == HSA_AMD_QUEUE_PRIORITY_HIGH ? QueuePriority::kHigh
                                                : QueuePriority::kNormal);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_queue_cu_set_mask(const hsa_queue_t* queue,
                                       uint32_t mask_bits, const uint32_t*) {
  ++Runtime::Get().counters().queue_changes;
  Queue::From(queue)->set_has_cu_mask(mask_bits > 0);
  return HSA_STATUS_SUCCESS;
}

// Every packet is timed, whether it is asked for or not.
hsa_status_t hsa_amd_profiling_set_profiler_enabled(hsa_queue_t*, int) {
  return HSA_STATUS_SUCCESS;
}
