// SPDX-License-Identifier: Apache-2.0
//
// Memory pools. All memory is the process's own, whatever pool it is from.

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "agents.h"
#include "answer.h"
#include "runtime.h"

#if defined(__SANITIZE_ADDRESS__)
#define SIMULATED_HSA_USES_MALLOC
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMULATED_HSA_USES_MALLOC
#endif
#endif

namespace simulated_hsa {
namespace {

constexpr size_t kPageSize = 4096;

// A pool's handle is its agent's and its kind.
enum class PoolKind : uint64_t { kKernarg, kCoarse, kGroup };
constexpr int kKindBits = 8;

hsa_amd_memory_pool_t PoolOf(hsa_agent_t agent, PoolKind kind) {
  return {agent.handle << kKindBits | static_cast<uint64_t>(kind)};
}

PoolKind KindOf(hsa_amd_memory_pool_t pool) {
  return static_cast<PoolKind>(pool.handle & ((1 << kKindBits) - 1));
}

hsa_agent_t AgentOf(hsa_amd_memory_pool_t pool) {
  return hsa_agent_t{pool.handle >> kKindBits};
}

uint32_t GlobalFlags(PoolKind kind) {
  switch (kind) {
    case PoolKind::kKernarg:
      return HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT |
             HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
    case PoolKind::kCoarse:
      return HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED;
    case PoolKind::kGroup:
      break;
  }
  return 0;
}

// Memory that reads as zeros, so that a program whose kernels do nothing prints
// the same in each run. Null if there is none. AddressSanitizer watches what is
// from malloc only; elsewhere a page costs nothing until it is written.
#if defined(SIMULATED_HSA_USES_MALLOC)
void* NewPages(size_t size) {
  const size_t whole = (size + kPageSize - 1) / kPageSize * kPageSize;
  void* const pages = std::aligned_alloc(kPageSize, whole);
  return pages == nullptr ? nullptr : std::memset(pages, 0, whole);
}
void FreePages(void* pages, size_t) { std::free(pages); }
#else
void* NewPages(size_t size) {
  void* const pages = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}
void FreePages(void* pages, size_t size) { munmap(pages, size); }
#endif

struct Allocation {
  size_t size = 0;
  hsa_amd_memory_pool_t pool = {};
};

// Thread-safe.
class Allocations {
 public:
  static Allocations& Get() {
    static Allocations* const allocations = new Allocations;
    return *allocations;
  }

  void Add(void* address, const Allocation& allocation) {
    const std::lock_guard<std::mutex> lock(mutex_);
    by_address_.emplace(static_cast<char*>(address), allocation);
  }

  std::optional<Allocation> Remove(void* address) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = by_address_.find(static_cast<char*>(address));
    if (found == by_address_.end()) return std::nullopt;
    const Allocation allocation = found->second;
    by_address_.erase(found);
    return allocation;
  }

  // The one that `address` lies in, with its first byte's address.
  std::optional<std::pair<char*, Allocation>> Find(const void* address) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const char* const byte = static_cast<const char*>(address);
    auto after = by_address_.upper_bound(const_cast<char*>(byte));
    if (after == by_address_.begin()) return std::nullopt;
    const auto& [start, allocation] = *--after;
    if (byte >= start + allocation.size) return std::nullopt;
    return std::make_pair(start, allocation);
  }

 private:
  std::mutex mutex_;
  std::map<char*, Allocation> by_address_;
};

}  // namespace
}  // namespace simulated_hsa

using simulated_hsa::Allocation;
using simulated_hsa::Allocations;
using simulated_hsa::Answer;
using simulated_hsa::kPageSize;
using simulated_hsa::PoolKind;
using simulated_hsa::Runtime;

hsa_status_t hsa_amd_agent_iterate_memory_pools(
    hsa_agent_t agent, hsa_status_t (*callback)(hsa_amd_memory_pool_t, void*),
    void* data) {
  const bool gpu = simulated_hsa::IsGpu(agent);
  for (const PoolKind kind : {gpu ? PoolKind::kCoarse : PoolKind::kKernarg,
                              gpu ? PoolKind::kGroup : PoolKind::kCoarse}) {
    const hsa_status_t status =
        callback(simulated_hsa::PoolOf(agent, kind), data);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t pool,
                                          hsa_amd_memory_pool_info_t attribute,
                                          void* value) {
  const PoolKind kind = simulated_hsa::KindOf(pool);
  const bool group = kind == PoolKind::kGroup;
  switch (attribute) {
    case HSA_AMD_MEMORY_POOL_INFO_SEGMENT:
      return Answer(value,
                    group ? HSA_AMD_SEGMENT_GROUP : HSA_AMD_SEGMENT_GLOBAL);
    case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS:
      return Answer(value, simulated_hsa::GlobalFlags(kind));
    case HSA_AMD_MEMORY_POOL_INFO_SIZE:
      return Answer(value, group ? size_t{64} << 10 : size_t{64} << 30);
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED:
      return Answer(value, !group);
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE:
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT:
      return Answer(value, kPageSize);
    case HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL:
      return Answer(value, false);
    default:
      return simulated_hsa::Unknown("pool info", attribute);
  }
}

hsa_status_t hsa_amd_agent_memory_pool_get_info(
    hsa_agent_t, hsa_amd_memory_pool_t,
    hsa_amd_agent_memory_pool_info_t attribute, void* value) {
  switch (attribute) {
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS:
      return Answer(value, HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT);
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS:
      return Answer(value, uint32_t{1});
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO: {
      hsa_amd_memory_pool_link_info_t link = {};
      link.atomic_support_32bit = true;
      link.atomic_support_64bit = true;
      link.coherent_support = true;
      return Answer(value, link);
    }
    default:
      return simulated_hsa::Unknown("agent's pool info", attribute);
  }
}

hsa_status_t hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t pool,
                                          size_t size, uint32_t,
                                          void** address) {
  if (size == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  Runtime& runtime = Runtime::Get();
  runtime.settings().Spend(&simulated_hsa::Model::allocate);
  if (runtime.settings().allocate_failure().ShouldFail()) {
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  *address = simulated_hsa::NewPages(size);
  if (*address == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  Allocations::Get().Add(*address, Allocation{size, pool});
  runtime.counters().live_bytes += static_cast<int64_t>(size);
  ++runtime.counters().allocations;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_pool_free(void* address) {
  if (address == nullptr) return HSA_STATUS_SUCCESS;
  Runtime& runtime = Runtime::Get();
  runtime.settings().Spend(&simulated_hsa::Model::free);
  const std::optional<Allocation> allocation =
      Allocations::Get().Remove(address);
  if (!allocation.has_value()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  simulated_hsa::FreePages(address, allocation->size);
  runtime.counters().live_bytes -= static_cast<int64_t>(allocation->size);
  ++runtime.counters().frees;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_agents_allow_access(uint32_t, const hsa_agent_t*,
                                         const uint32_t*, const void*) {
  ++Runtime::Get().counters().access_grants;
  return HSA_STATUS_SUCCESS;
}

// A GPU sees host memory at the host's address.
hsa_status_t hsa_amd_memory_lock_to_pool(void* host_address, size_t,
                                         hsa_agent_t*, int,
                                         hsa_amd_memory_pool_t, uint32_t,
                                         void** gpu_address) {
  *gpu_address = host_address;
  ++Runtime::Get().counters().locks;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_unlock(void*) {
  ++Runtime::Get().counters().unlocks;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_memory_register(void*, size_t) { return HSA_STATUS_SUCCESS; }

hsa_status_t hsa_memory_deregister(void*, size_t) { return HSA_STATUS_SUCCESS; }

hsa_status_t hsa_memory_copy(void* to, const void* from, size_t size) {
  std::memmove(to, from, size);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_coherency_set_type(hsa_agent_t, hsa_amd_coherency_type_t) {
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_pointer_info(const void* address,
                                  hsa_amd_pointer_info_t* info,
                                  void* (*)(size_t), uint32_t*, hsa_agent_t**) {
  hsa_amd_pointer_info_t answer = {};
  answer.size = std::min(info->size,
                         static_cast<uint32_t>(sizeof(hsa_amd_pointer_info_t)));
  answer.type = HSA_EXT_POINTER_TYPE_UNKNOWN;
  if (const auto found = Allocations::Get().Find(address)) {
    const auto& [start, allocation] = *found;
    answer.type = HSA_EXT_POINTER_TYPE_HSA;
    answer.agentBaseAddress = start;
    answer.hostBaseAddress = start;
    answer.sizeInBytes = allocation.size;
    answer.agentOwner = simulated_hsa::AgentOf(allocation.pool);
    answer.global_flags =
        simulated_hsa::GlobalFlags(simulated_hsa::KindOf(allocation.pool));
  }
  std::memcpy(info, &answer, answer.size);
  return HSA_STATUS_SUCCESS;
}
