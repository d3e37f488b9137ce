// SPDX-License-Identifier: Apache-2.0
//
// plugin_test SIMULATED_HSA PLUGIN_A PLUGIN_B: a program that knows nothing of
// HIP and opens, late, two shared libraries that each link the pool. Each has a
// pool of its own, and the program can end with both, or close one before. Uses
// the simulated GPU unless HIP_STREAM_POOL_GPU is "real".
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "plugin_test: %s\n", what);
  std::exit(1);
}

void* Open(const char* path) {
  // Global, as Python's extension modules sometimes are: what the plugins
  // export may then meet.
  void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  Require(library != nullptr, "cannot open a library");
  return library;
}

struct Plugin {
  explicit Plugin(const char* path) : library(Open(path)) {}

  template <typename Function>
  Function* Find(const char* name) const {
    void* symbol = dlsym(library, name);
    Require(symbol != nullptr, name);
    return reinterpret_cast<Function*>(symbol);
  }
  void* Create() const {
    void* stream = Find<void*()>("PluginCreateStream")();
    Require(stream != nullptr, "cannot create a stream");
    return stream;
  }
  bool Destroy(void* stream) const {
    return Find<bool(void*)>("PluginDestroyStream")(stream);
  }
  int64_t Parked() const { return Find<int64_t()>("PluginStreamsParked")(); }
  int64_t Foreign() const { return Find<int64_t()>("PluginForeignStreams")(); }

  void* library;
};

}  // namespace

int main(int argc, char** argv) {
  Require(argc == 4, "usage: plugin_test SIMULATED_HSA PLUGIN_A PLUGIN_B");
  const char* gpu = std::getenv("HIP_STREAM_POOL_GPU");
  if (gpu == nullptr || std::strcmp(gpu, "real") != 0) {
    Open(argv[1]);  // HIP, when it comes, finds it loaded
  }
  const Plugin a(argv[2]);
  const Plugin b(argv[3]);

  void* of_a = a.Create();
  Require(a.Destroy(of_a), "cannot destroy a stream");
  Require(a.Parked() == 1 && b.Parked() == 0, "the pools are not apart");
  void* of_b = b.Create();
  Require(of_b != of_a, "one stream has two owners");
  Require(a.Create() == of_a, "the stream was not reused");

  // To one pool, the other's stream is a stranger's: destroyed, never parked.
  Require(b.Destroy(of_a), "cannot destroy the other's stream");
  Require(b.Foreign() == 1 && b.Parked() == 0, "the other's stream was parked");

  Require(b.Destroy(of_b), "cannot destroy a stream");
  dlclose(b.library);
  Require(a.Destroy(a.Create()), "one pool needs the other");
  return 0;
}
