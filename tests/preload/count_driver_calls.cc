// SPDX-License-Identifier: Apache-2.0
//
// A library to be preloaded: when the program ends, writes how often the driver
// of the simulated GPU was called to the file DRIVER_CALLS_FILE.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "simulated_hsa/simulated_hsa.h"

namespace {

const pid_t process = getpid();

// Wherever HIP was loaded: simulated_hsa::Get() sees the global scope alone.
simulated_hsa::Control* FindSimulation() {
  void* hsa = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (hsa == nullptr) return nullptr;
  const auto get = reinterpret_cast<simulated_hsa::Control* (*)()>(
      dlsym(hsa, "simulated_hsa_control"));
  return get == nullptr ? nullptr : get();
}

__attribute__((destructor)) void Write() {
  simulated_hsa::Control* simulation = FindSimulation();
  const char* path = std::getenv("DRIVER_CALLS_FILE");
  if (simulation == nullptr || path == nullptr || getpid() != process) return;
  if (std::FILE* file = std::fopen(path, "w")) {
    std::fprintf(
        file, "%lld\n",
        static_cast<long long>(simulation->ReadCounters().driver_calls()));
    std::fclose(file);
  }
}

}  // namespace
