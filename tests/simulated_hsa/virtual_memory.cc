// SPDX-License-Identifier: Apache-2.0
//
// Virtual memory: addresses are reserved first and get memory later. HIP 7
// makes the memory of hipMallocAsync this way.
//
// hsa_ext_amd.h is not included: older ones declare none of this. A handle of
// a pool or of memory, there a struct of one number, is passed as the number.

#include <hsa/hsa.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "runtime.h"

namespace simulated_hsa {
namespace {

// What a handle stands for: bytes in a file without a name, which read as
// zeros when new and keep their values from one mapping to the next.
class PhysicalMemory {
 public:
  PhysicalMemory(int file, size_t size) : file_(file), size_(size) {
    Runtime::Get().counters().live_bytes += static_cast<int64_t>(size);
    ++Runtime::Get().counters().allocations;
  }
  ~PhysicalMemory() {
    close(file_);
    Runtime::Get().counters().live_bytes -= static_cast<int64_t>(size_);
    ++Runtime::Get().counters().frees;
  }
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  // Null if there is no room.
  static std::shared_ptr<PhysicalMemory> Create(size_t size) {
    const int file = memfd_create("hsa memory", MFD_CLOEXEC);
    if (file < 0) return nullptr;
    if (ftruncate(file, static_cast<off_t>(size)) == 0) {
      return std::make_shared<PhysicalMemory>(file, size);
    }
    close(file);
    return nullptr;
  }

  int file() const { return file_; }
  size_t size() const { return size_; }

 private:
  const int file_;
  const size_t size_;
};

// Thread-safe.
class VirtualMemory {
 public:
  static VirtualMemory& Get() {
    static VirtualMemory* const memory = new VirtualMemory;
    return *memory;
  }

  hsa_status_t Reserve(void** address, size_t size, size_t alignment);
  hsa_status_t Free(void* address, size_t size);
  hsa_status_t CreateHandle(size_t size, uint64_t* handle);
  hsa_status_t ReleaseHandle(uint64_t handle);
  hsa_status_t RetainHandle(void* address, uint64_t* handle);
  hsa_status_t Map(void* address, size_t size, uint64_t handle);
  hsa_status_t Unmap(void* address, size_t size);
  hsa_status_t SetAccess(void* address, size_t size, hsa_agent_t agent,
                         hsa_access_permission_t permission);
  hsa_status_t GetAccess(void* address, hsa_agent_t agent,
                         hsa_access_permission_t* permission);

 private:
  struct Handle {
    std::shared_ptr<PhysicalMemory> memory;
    int owners = 0;
  };
  struct Mapping {
    uint64_t handle = 0;
    std::shared_ptr<PhysicalMemory> memory;  // kept when the handle is released
    std::map<uint64_t, hsa_access_permission_t> access;  // by agent
  };

  Mapping* FindLocked(void* address);
  bool ReservedLocked(char* address, size_t size) const;

  std::mutex mutex_;
  uint64_t last_handle_ = 0;
  std::map<char*, size_t> reserved_;
  std::map<uint64_t, Handle> handles_;
  std::map<char*, Mapping> mappings_;
};

hsa_status_t VirtualMemory::Reserve(void** address, size_t size,
                                    size_t alignment) {
  // With room to align in; what is over on both sides goes back.
  void* const found = mmap(nullptr, size + alignment, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  char* const start = static_cast<char*>(found);
  const size_t past =
      alignment == 0 ? 0 : reinterpret_cast<uintptr_t>(start) % alignment;
  const size_t before = past == 0 ? 0 : alignment - past;
  if (before > 0) munmap(start, before);
  if (alignment > before) munmap(start + before + size, alignment - before);
  *address = start + before;
  const std::lock_guard<std::mutex> lock(mutex_);
  reserved_.emplace(start + before, size);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t VirtualMemory::Free(void* address, size_t size) {
  char* const start = static_cast<char*>(address);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = reserved_.find(start);
  if (found == reserved_.end()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  if (found->second != size) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto mapping = mappings_.lower_bound(start);
  if (mapping != mappings_.end() && mapping->first < start + size) {
    return HSA_STATUS_ERROR_RESOURCE_FREE;
  }
  munmap(address, size);
  reserved_.erase(found);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t VirtualMemory::CreateHandle(size_t size, uint64_t* handle) {
  std::shared_ptr<PhysicalMemory> memory = PhysicalMemory::Create(size);
  if (memory == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  const std::lock_guard<std::mutex> lock(mutex_);
  *handle = ++last_handle_;
  handles_[*handle] = Handle{std::move(memory), 1};
  return HSA_STATUS_SUCCESS;
}

hsa_status_t VirtualMemory::ReleaseHandle(uint64_t handle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  if (--found->second.owners == 0) handles_.erase(found);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t VirtualMemory::RetainHandle(void* address, uint64_t* handle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Mapping* const mapping = FindLocked(address);
  if (mapping == nullptr) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  Handle& retained = handles_[mapping->handle];
  retained.memory = mapping->memory;
  ++retained.owners;
  *handle = mapping->handle;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t VirtualMemory::Map(void* address, size_t size, uint64_t handle) {
  char* const start = static_cast<char*>(address);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end() || found->second.memory->size() != size ||
      !ReservedLocked(start, size) || FindLocked(start) != nullptr) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  const std::shared_ptr<PhysicalMemory>& memory = found->second.memory;
  // The devices' threads are the process's own, so its pages are theirs.
  if (mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
           memory->file(), 0) == MAP_FAILED) {
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  mappings_[start] = Mapping{handle, memory, {}};
  return HSA_STATUS_SUCCESS;
}

hsa_status_t VirtualMemory::Unmap(void* address, size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = mappings_.find(static_cast<char*>(address));
  if (found == mappings_.end()) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  if (found->second.memory->size() != size) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  mmap(address, size, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  mappings_.erase(found);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t VirtualMemory::SetAccess(void* address, size_t size,
                                      hsa_agent_t agent,
                                      hsa_access_permission_t permission) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Mapping* const mapping = FindLocked(address);
  if (mapping == nullptr || mapping->memory->size() != size) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  mapping->access[agent.handle] = permission;
  ++Runtime::Get().counters().access_grants;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t VirtualMemory::GetAccess(void* address, hsa_agent_t agent,
                                      hsa_access_permission_t* permission) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Mapping* const mapping = FindLocked(address);
  if (mapping == nullptr) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  const auto found = mapping->access.find(agent.handle);
  if (found == mapping->access.end()) {
    return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  }
  *permission = found->second;
  return HSA_STATUS_SUCCESS;
}

// The mapping that `address` lies in; null if there is none.
VirtualMemory::Mapping* VirtualMemory::FindLocked(void* address) {
  char* const byte = static_cast<char*>(address);
  const auto after = mappings_.upper_bound(byte);
  if (after == mappings_.begin()) return nullptr;
  auto& [start, mapping] = *std::prev(after);
  return byte < start + mapping.memory->size() ? &mapping : nullptr;
}

bool VirtualMemory::ReservedLocked(char* address, size_t size) const {
  const auto after = reserved_.upper_bound(address);
  if (after == reserved_.begin()) return false;
  const auto& [start, reserved_size] = *std::prev(after);
  return address + size <= start + reserved_size;
}

// An hsa_amd_memory_access_desc_t.
struct AccessOfAgent {
  hsa_access_permission_t permission;
  hsa_agent_t agent;
};

}  // namespace
}  // namespace simulated_hsa

using simulated_hsa::AccessOfAgent;
using simulated_hsa::Model;
using simulated_hsa::Runtime;
using simulated_hsa::VirtualMemory;

extern "C" {

// The address that the caller would like best is not looked at.
hsa_status_t hsa_amd_vmem_address_reserve_align(void** address, size_t size,
                                                uint64_t, uint64_t alignment,
                                                uint64_t) {
  return VirtualMemory::Get().Reserve(address, size, alignment);
}

hsa_status_t hsa_amd_vmem_address_reserve(void** address, size_t size, uint64_t,
                                          uint64_t) {
  return VirtualMemory::Get().Reserve(address, size, 0);
}

hsa_status_t hsa_amd_vmem_address_free(void* address, size_t size) {
  return VirtualMemory::Get().Free(address, size);
}

// Of any pool: all memory is the process's own.
hsa_status_t hsa_amd_vmem_handle_create(uint64_t, size_t size, int, uint64_t,
                                        uint64_t* handle) {
  simulated_hsa::Settings& settings = Runtime::Get().settings();
  settings.Spend(&Model::allocate);
  if (settings.allocate_failure().ShouldFail()) {
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  return VirtualMemory::Get().CreateHandle(size, handle);
}

hsa_status_t hsa_amd_vmem_handle_release(uint64_t handle) {
  Runtime::Get().settings().Spend(&Model::free);
  return VirtualMemory::Get().ReleaseHandle(handle);
}

hsa_status_t hsa_amd_vmem_retain_alloc_handle(uint64_t* handle, void* address) {
  return VirtualMemory::Get().RetainHandle(address, handle);
}

hsa_status_t hsa_amd_vmem_map(void* address, size_t size, size_t,
                              uint64_t handle, uint64_t) {
  return VirtualMemory::Get().Map(address, size, handle);
}

hsa_status_t hsa_amd_vmem_unmap(void* address, size_t size) {
  return VirtualMemory::Get().Unmap(address, size);
}

hsa_status_t hsa_amd_vmem_set_access(void* address, size_t size,
                                     const AccessOfAgent* accesses,
                                     size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const hsa_status_t status = VirtualMemory::Get().SetAccess(
        address, size, accesses[i].agent, accesses[i].permission);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_vmem_get_access(void* address,
                                     hsa_access_permission_t* permission,
                                     hsa_agent_t agent) {
  return VirtualMemory::Get().GetAccess(address, agent, permission);
}

}  // extern "C"
