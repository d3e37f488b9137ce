// SPDX-License-Identifier: Apache-2.0
//
// Ends a process in the way its argument says. It must end, with 0; that is
// the whole test.

#include <dirent.h>
#include <dlfcn.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "gpu/gpu_choice.h"
#include "hip/hip_runtime_api.h"
#include "simulated_hsa/simulated_hsa.h"

namespace {

constexpr size_t kSize = size_t{1} << 20;

void Check(hipError_t error, const char* call) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, hipGetErrorName(error));
  std::exit(1);
}
#define CHECK_HIP(call) Check(call, #call)

// Busy for ten seconds, if anyone waits for it.
void SendWork(hipStream_t stream) {
  simulated_hsa::Model model;
  model.copy = model.dispatch = std::chrono::seconds(10);
  simulated_hsa::Get()->SetModel(model);
  void* memory;
  void* pinned;
  CHECK_HIP(hipMalloc(&memory, kSize));
  CHECK_HIP(hipHostMalloc(&pinned, kSize, 0));
  CHECK_HIP(
      hipMemcpyAsync(memory, pinned, kSize, hipMemcpyHostToDevice, stream));
  CHECK_HIP(hipMemsetAsync(memory, 0, kSize, stream));
}

void NeverReturn(hipStream_t, hipError_t, void*) {
  static auto& mutex = *new std::mutex;
  static auto& never = *new std::condition_variable;
  std::unique_lock<std::mutex> lock(mutex);
  never.wait(lock, [] { return false; });
}

// The simulation's threads that run now, by their names.
int CountThreads() {
  int count = 0;
  DIR* const tasks = opendir("/proc/self/task");
  while (const dirent* entry = readdir(tasks)) {
    std::ifstream file(std::string("/proc/self/task/") + entry->d_name +
                       "/comm");
    std::string name;
    std::getline(file, name);
    if (name.rfind("hsa ", 0) == 0) ++count;
  }
  closedir(tasks);
  return count;
}

// hsa_shut_down must have ended the threads when it returns.
int ExitAfterShutDown(hipStream_t stream) {
  SendWork(stream);
  if (CountThreads() == 0) return 1;
  const auto shut_down =
      reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "hsa_shut_down"));
  while (shut_down() == 0) {  // once for each hsa_init of the HIP runtime
  }
  // The system lists a thread that was joined for a moment longer.
  int threads = CountThreads();
  for (int i = 0; threads > 0 && i < 1000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    threads = CountThreads();
  }
  if (threads > 0) std::fprintf(stderr, "%d threads are left\n", threads);
  std::fflush(nullptr);
  // Without the HIP runtime's own end, which may want the threads.
  _exit(threads > 0 ? 1 : 0);
}

std::atomic<bool> handlers_are_late{false};

struct LateHandler {
  hsa_amd_signal_handler function;
  void* argument;

  static bool Run(hsa_signal_value_t value, void* late) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::unique_ptr<LateHandler> handler(static_cast<LateHandler*>(late));
    return handler->function(value, handler->argument);
  }
};

// The handler of the stream's last work is what frees its memory.
int ExitBeforeHandler(hipStream_t stream) {
  void* memory;
  CHECK_HIP(hipMalloc(&memory, kSize));
  simulated_hsa::Get()->Hold();
  handlers_are_late = true;
  CHECK_HIP(hipMemsetAsync(memory, 0, kSize, stream));
  if (hipStreamQuery(stream) != hipErrorNotReady) return 1;
  simulated_hsa::Get()->Release();
  CHECK_HIP(hipStreamSynchronize(stream));
  CHECK_HIP(hipFree(memory));
  CHECK_HIP(hipStreamDestroy(stream));
  return 0;
}

int ExitInForkedChild() {
  const pid_t child = fork();
  if (child == 0) std::exit(0);
  int status = 1;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

// HIP calls this one, in place of the simulation's.
hsa_status_t hsa_amd_signal_async_handler(hsa_signal_t signal,
                                          hsa_signal_condition_t relation,
                                          hsa_signal_value_t value,
                                          hsa_amd_signal_handler function,
                                          void* argument) {
  static const auto simulated =
      reinterpret_cast<decltype(&hsa_amd_signal_async_handler)>(
          dlsym(RTLD_NEXT, "hsa_amd_signal_async_handler"));
  if (handlers_are_late) {
    argument = new LateHandler{function, argument};
    function = LateHandler::Run;
  }
  return simulated(signal, relation, value, function, argument);
}

int main(int argc, char** argv) {
  hip_stream_pool::ChooseGpu(argv);
  const std::string way = argc == 2 ? argv[1] : "";
  if (simulated_hsa::Get() == nullptr) return 1;
  if (way == "without_hip") return 0;

  hipStream_t stream;
  CHECK_HIP(hipStreamCreate(&stream));
  if (way == "with_live_stream") return 0;
  if (way == "with_pending_work") {
    SendWork(stream);
    return 0;
  }
  if (way == "with_quick_exit") {
    SendWork(stream);
    std::quick_exit(0);
  }
  if (way == "with_held_work") {
    simulated_hsa::Get()->Hold();
    SendWork(stream);
    return 0;
  }
  if (way == "in_callback") {
    CHECK_HIP(hipStreamAddCallback(stream, NeverReturn, nullptr, 0));
    return 0;
  }
  if (way == "before_handler") return ExitBeforeHandler(stream);
  if (way == "after_shut_down") return ExitAfterShutDown(stream);
  if (way == "in_forked_child") return ExitInForkedChild();
  if (way == "after_reset") {
    CHECK_HIP(hipDeviceReset());
    return 0;
  }
  std::fprintf(stderr, "\"%s\" is no way to exit\n", way.c_str());
  return 1;
}
