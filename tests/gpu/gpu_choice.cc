// SPDX-License-Identifier: Apache-2.0

#include "gpu/gpu_choice.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "hip/hip_runtime_api.h"
#include "hip_over_cuda/hip_over_cuda.h"
#include "simulated_hsa/simulated_hsa.h"

namespace hip_stream_pool {
namespace {

constexpr char kChoiceVariable[] = "HIP_STREAM_POOL_GPU";
// Set for the program that is executed again, so that it is not once more.
constexpr char kExecutedVariable[] = "HIP_STREAM_POOL_GPU_EXECUTED";
constexpr char kLibraryPath[] = "LD_LIBRARY_PATH";

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(2);
}

// The kernel driver lists CPUs as nodes too; these have no SIMD units.
bool HasSimdUnits(const std::string& properties_path) {
  std::ifstream properties(properties_path);
  std::string name;
  long long value;
  while (properties >> name >> value) {
    if (name == "simd_count") return value > 0;
  }
  return false;
}

bool HasUsableGpu() {
  // Whether there is one to CUDA, HIP's calls say.
  if (hip_over_cuda::IsLoaded()) return true;
  if (access("/dev/kfd", R_OK | W_OK) != 0) return false;
  const std::string nodes = "/sys/class/kfd/kfd/topology/nodes";
  DIR* const folder = opendir(nodes.c_str());
  if (folder == nullptr) return false;
  bool found = false;
  while (const dirent* entry = readdir(folder)) {
    found = found || HasSimdUnits(nodes + "/" + entry->d_name + "/properties");
  }
  closedir(folder);
  return found;
}

bool WantsSimulation() {
  const char* const variable = std::getenv(kChoiceVariable);
  const std::string choice = variable == nullptr ? "auto" : variable;
  if (choice == "real") {
    if (HasUsableGpu()) return false;
    Fail(std::string(kChoiceVariable) +
         " is \"real\", but there is no AMD GPU that this user can use "
         "(/dev/kfd); leave it unset for the simulated one");
  }
  if (choice == "simulated") return true;
  if (choice == "auto") return !HasUsableGpu();
  Fail(std::string(kChoiceVariable) + " is \"" + choice +
       "\"; it can be \"real\", \"simulated\" or \"auto\"");
}

}  // namespace

void ChooseGpu(char** argv) {
  const bool simulated = simulated_hsa::Get() != nullptr;
  const bool executed_before = std::getenv(kExecutedVariable) != nullptr;
  // Not for the programs that this one starts: they choose for themselves.
  unsetenv(kExecutedVariable);
  if (WantsSimulation() == simulated) return;
  if (simulated) {
    Fail("a real GPU is asked for, but " + std::string(kLibraryPath) +
         " leads to the simulated HSA runtime");
  }
  const std::string folder = HIP_STREAM_POOL_SIMULATED_HSA_FOLDER;
  if (executed_before) {
    Fail("the simulated HSA runtime was not loaded from " + folder +
         "; has it been built, and does the program keep " + kLibraryPath +
         " (not if it is set-user-id or has an RPATH to another)?");
  }
  const char* const path = std::getenv(kLibraryPath);
  const bool has_path = path != nullptr && *path != '\0';
  setenv(kLibraryPath, (has_path ? folder + ":" + path : folder).c_str(),
         /*replace=*/1);
  setenv(kExecutedVariable, "1", /*replace=*/1);
  std::fflush(nullptr);
  execv("/proc/self/exe", argv);
  Fail(std::string("cannot execute this program again: ") +
       std::strerror(errno));
}

std::string DescribeGpu() {
  simulated_hsa::Control* const simulation = simulated_hsa::Get();
  std::string text = simulation != nullptr ? "simulated: " : "real: ";
  int count = 0;
  int version = 0;
  hipDeviceProp_t properties = {};
  hipError_t error = hipGetDeviceCount(&count);
  if (error == hipSuccess) error = hipRuntimeGetVersion(&version);
  if (error == hipSuccess) error = hipGetDeviceProperties(&properties, 0);
  if (error != hipSuccess) return text + "none, " + hipGetErrorName(error);

  std::string architecture = properties.gcnArchName;
  architecture.resize(std::min(architecture.find(':'), architecture.size()));
  text += architecture + " x" + std::to_string(count) + ", HIP " +
          std::to_string(version / 10'000'000) + "." +
          std::to_string(version / 100'000 % 100) + "." +
          std::to_string(version % 100'000);
  if (const char* over = hip_over_cuda::Description()) {
    text += std::string(" ") + over;
  }
  if (simulation != nullptr) text += " (" + simulation->Describe() + ")";
  return text;
}

}  // namespace hip_stream_pool
