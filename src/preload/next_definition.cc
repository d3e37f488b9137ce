// SPDX-License-Identifier: Apache-2.0
#include "preload/next_definition.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace hip_stream_pool {
namespace {

struct Hips {
  int count = 0;
  char first[PATH_MAX] = "";
};

bool IsHip(const char* path) {
  constexpr char kName[] = "libamdhip64";
  constexpr size_t kLength = sizeof(kName) - 1;
  const char* slash = std::strrchr(path, '/');
  const char* file = slash == nullptr ? path : slash + 1;
  // Python wheels can have libamdhip64-1234abcd.so.6.
  return std::strncmp(file, kName, kLength) == 0 &&
         (file[kLength] == '.' || file[kLength] == '-');
}

Hips ListHips() {
  Hips hips;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& found = *static_cast<Hips*>(data);
        if (IsHip(info->dlpi_name) && found.count++ == 0) {
          std::snprintf(found.first, sizeof(found.first), "%s",
                        info->dlpi_name);
        }
        return 0;
      },
      &hips);
  return hips;
}

// How often this process has loaded a library.
uint64_t CountLoads() {
  uint64_t count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        *static_cast<uint64_t*>(data) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

// The only HIP, as dlopen gives it; nullptr if there is none or another.
void* OnlyHip() {
  static std::atomic<void*> opened{nullptr};
  void* handle = opened.load(std::memory_order_acquire);
  if (handle != nullptr) return handle;
  const Hips hips = ListHips();
  if (hips.count != 1) return nullptr;
  handle = dlopen(hips.first, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  opened.store(handle, std::memory_order_release);
  return handle;
}

}  // namespace

DlsymFunction NextDlsym() {
#if defined(__x86_64__)
  static std::atomic<DlsymFunction> known{nullptr};
  DlsymFunction next = known.load(std::memory_order_relaxed);
  if (next == nullptr) {
    // The version that every glibc has.
    next = reinterpret_cast<DlsymFunction>(
        dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
    known.store(next, std::memory_order_relaxed);
  }
  return next;
#else
  return dlsym;
#endif
}

int CountHips() { return ListHips().count; }

bool AreThereSeveralHips() {
  static std::atomic<uint64_t> loads_then{0};
  static std::atomic<bool> several{false};
  const uint64_t loads = CountLoads();
  if (loads_then.load(std::memory_order_acquire) != loads) {
    several.store(CountHips() > 1, std::memory_order_relaxed);
    loads_then.store(loads, std::memory_order_release);
  }
  return several.load(std::memory_order_relaxed);
}

void* FindInGlobalScope(const char* name) {
  return NextDlsym()(RTLD_NEXT, name);
}

void* FindInHip(const char* name) {
  if (void* found = FindInGlobalScope(name)) return found;
  void* hip = OnlyHip();
  return hip == nullptr ? nullptr : NextDlsym()(hip, name);
}

void* FindInLibraryOf(const void* caller, const char* name) {
  Dl_info info = {};
  if (dladdr(caller, &info) == 0) return nullptr;
  // Not the program itself, for which there is only the global scope.
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* found = NextDlsym()(library, name);
  dlclose(library);
  return found;
}

void* FindForCaller(const void* caller, const char* name) {
  if (void* found = FindInGlobalScope(name)) return found;
  if (AreThereSeveralHips()) {
    if (void* found = FindInLibraryOf(caller, name)) return found;
  }
  return FindInHip(name);
}

}  // namespace hip_stream_pool
