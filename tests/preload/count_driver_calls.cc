// SPDX-License-Identifier: Apache-2.0
//
// A library to be preloaded: when the program ends, writes how often the driver
// of the simulated GPU was called to the file DRIVER_CALLS_FILE.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "simulated_hsa/simulated_hsa.h"

namespace {

const pid_t process = getpid();

__attribute__((destructor)) void Write() {
  simulated_hsa::Control* simulation = simulated_hsa::Get();
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
