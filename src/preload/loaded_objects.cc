// SPDX-License-Identifier: Apache-2.0
#include "preload/loaded_objects.h"

#include <algorithm>
#include <cstring>

#include "hip/call_guard.h"

namespace hip_stream_pool {
namespace {

LoadedObjects all;

const char* FileOf(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

bool IsHip(const char* path) {
  constexpr char kName[] = "libamdhip64";
  constexpr size_t kLength = sizeof(kName) - 1;
  const char* file = FileOf(path);
  // Python wheels can have libamdhip64-1234abcd.so.6.
  return std::strncmp(file, kName, kLength) == 0 &&
         (file[kLength] == '.' || file[kLength] == '-');
}

void* ToPointer(uintptr_t address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): ELF's tables hold numbers.
  return reinterpret_cast<void*>(address);
}

// Most objects' tables hold addresses, some (the kernel's) still offsets.
template <typename T>
void SetTable(const T*& table, const LoadedObject& object,
              const ElfW(Dyn) & entry) {
  const uintptr_t value = entry.d_un.d_ptr;
  table = static_cast<const T*>(
      ToPointer(value < object.base ? object.base + value : value));
}

}  // namespace

const char* const kFunctionNames[kFunctions] = {
    "hipStreamCreate", "hipStreamCreateWithFlags",
    "hipStreamCreateWithPriority", "hipStreamDestroy", "hipDeviceReset"};

LoadedObject::LoadedObject(const dl_phdr_info& info) : LoadedObject() {
  path = info.dlpi_name;
  base = info.dlpi_addr;
  is_hip = IsHip(path);
  const auto at = [&](uintptr_t offset) {
    return static_cast<const void*>(ToPointer(base + offset));
  };
  begin = at(UINTPTR_MAX - base);
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type == PT_DYNAMIC) {
      dynamic = static_cast<const ElfW(Dyn)*>(at(header.p_vaddr));
    } else if (header.p_type == PT_LOAD) {
      begin = std::min(begin, at(header.p_vaddr));
      end = std::max(end, at(header.p_vaddr + header.p_memsz));
    }
  }
  if (dynamic == nullptr) return;
  uintptr_t soname_at = 0;
  for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) SetTable(strings, *this, *entry);
    if (entry->d_tag == DT_SYMTAB) SetTable(symbols, *this, *entry);
    if (entry->d_tag == DT_VERSYM) SetTable(versions, *this, *entry);
    if (entry->d_tag == DT_GNU_HASH) SetTable(gnu_hash, *this, *entry);
    if (entry->d_tag == DT_HASH) SetTable(hash, *this, *entry);
    if (entry->d_tag == DT_RELA) SetTable(relocations[0].begin, *this, *entry);
    if (entry->d_tag == DT_RELASZ) relocations[0].bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_JMPREL) {
      SetTable(relocations[1].begin, *this, *entry);
    }
    if (entry->d_tag == DT_PLTRELSZ) relocations[1].bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_SONAME) soname_at = entry->d_un.d_val;
  }
  if (soname_at != 0) soname = strings + soname_at;
  for (int i = 0; i < kFunctions; ++i) functions[i] = Find(kFunctionNames[i]);
}

void* LoadedObject::Find(const char* name) const {
  const auto found = [&](uint32_t i) -> void* {
    const ElfW(Sym)& symbol = symbols[i];
    const bool is_function = (symbol.st_info & 0xf) == STT_FUNC;
    const bool is_hidden = versions != nullptr && (versions[i] & 0x8000) != 0;
    if (!is_function || is_hidden || symbol.st_shndx == SHN_UNDEF ||
        std::strcmp(strings + symbol.st_name, name) != 0) {
      return nullptr;
    }
    return ToPointer(base + symbol.st_value);
  };
  if (gnu_hash != nullptr) {
    uint32_t wanted = 5381;
    for (const char* c = name; *c != '\0'; ++c) {
      wanted = wanted * 33 + static_cast<unsigned char>(*c);
    }
    const uint32_t bucket_count = gnu_hash[0];
    const uint32_t first = gnu_hash[1];
    const uint32_t* buckets =
        gnu_hash + 4 + gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t* chain = buckets + bucket_count;
    uint32_t i = bucket_count == 0 ? 0 : buckets[wanted % bucket_count];
    if (i < first) return nullptr;
    for (;; ++i) {
      const uint32_t of_symbol = chain[i - first];
      void* function = (of_symbol | 1) == (wanted | 1) ? found(i) : nullptr;
      if (function != nullptr || (of_symbol & 1) != 0) return function;
    }
  }
  for (uint32_t i = 1; hash != nullptr && i < hash[1]; ++i) {
    if (void* function = found(i)) return function;
  }
  return nullptr;
}

bool LoadedObject::IsNamed(const char* name) const {
  const char* own = std::strchr(name, '/') != nullptr ? path : FileOf(path);
  return std::strcmp(name, own) == 0 ||
         (soname != nullptr && std::strcmp(name, soname) == 0);
}

bool LoadedObject::IsBoundTo(const LoadedObject& other) const {
  for (const Relocations& table : relocations) {
    const size_t count =
        table.begin == nullptr ? 0 : table.bytes / sizeof(ElfW(Rela));
    for (size_t i = 0; i < count; ++i) {
      const ElfW(Rela)& relocation = table.begin[i];
      const char* name =
          strings + symbols[ELF64_R_SYM(relocation.r_info)].st_name;
      if (std::strncmp(name, "hip", 3) != 0) continue;
      void* bound = nullptr;
      std::memcpy(&bound, ToPointer(base + relocation.r_offset), sizeof(bound));
      if (other.Contains(bound) && other.Find(name) == bound) return true;
    }
  }
  return false;
}

LoadedObject* LoadedObjects::At(const void* address) {
  LoadedObject* found = std::find_if(
      begin(), end(),
      [&](const LoadedObject& object) { return object.Contains(address); });
  return found == end() ? nullptr : found;
}

LoadedObject* LoadedObjects::FindInGroup(LoadedObject* root,
                                         const LoadedObject* member,
                                         Function function) {
  std::fill_n(is_in_group_, count_, false);
  int size = 0;
  const auto add = [&](LoadedObject* object) {
    is_in_group_[object - objects_] = true;
    group_[size++] = object;
  };
  LoadedObject* found = nullptr;
  add(root);
  for (int i = 0; i < size; ++i) {
    if (found == nullptr && group_[i]->functions[function] != nullptr) {
      found = group_[i];
    }
    for (const ElfW(Dyn)* entry = group_[i]->dynamic;
         entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag != DT_NEEDED) continue;
      const char* name = group_[i]->strings + entry->d_un.d_val;
      LoadedObject* needed = std::find_if(
          begin(), end(),
          [&](const LoadedObject& object) { return object.IsNamed(name); });
      if (needed != end() && !is_in_group_[needed - objects_]) add(needed);
    }
  }
  return is_in_group_[member - objects_] ? found : nullptr;
}

void LoadedObjects::Refresh(const dl_phdr_info& now) {
  if (now.dlpi_adds == loads_ && now.dlpi_subs == unloads_) return;
  count_ = 0;
  hips_ = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void*) {
        if (all.count_ == kMost) return 1;
        all.objects_[all.count_++] = LoadedObject(*info);
        return 0;
      },
      nullptr);
  if (startup_count_ == 0) startup_count_ = count_;
  self_ = static_cast<int>(At(&all) - objects_);
  std::fill_n(definers_, kFunctions, Definers());
  for (LoadedObject& object : *this) {
    if (object.is_hip) ++hips_;
    for (int i = 0; i<kFunctions&& & object> self(); ++i) {
      if (object.functions[i] == nullptr) continue;
      if (definers_[i].count++ == 0) definers_[i].first = &object;
      definers_[i].last = &object;
    }
  }
  loads_ = now.dlpi_adds;
  unloads_ = now.dlpi_subs;
}

void LoadedObjects::Visit(void (*use)(LoadedObjects&, void*), void* data) {
  // There, another thread's lock of the list may be held for ever.
  if (IsForkedChild()) return use(all, data);
  struct Arguments {
    void (*use)(LoadedObjects&, void*);
    void* data;
  } arguments = {use, data};
  // With the list's lock held, which the same thread may take again.
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        const auto& arguments = *static_cast<Arguments*>(data);
        all.Refresh(*info);
        arguments.use(all, arguments.data);
        return 1;
      },
      &arguments);
}

}  // namespace hip_stream_pool
