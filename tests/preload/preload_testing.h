// SPDX-License-Identifier: Apache-2.0
//
// Runs programs that know nothing of the pool, in C and with nothing linked to
// it: as they are, and with libhip_stream_pool_preload.so.
#ifndef HIP_STREAM_POOL_TESTS_PRELOAD_PRELOAD_TESTING_H_
#define HIP_STREAM_POOL_TESTS_PRELOAD_PRELOAD_TESTING_H_

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "hip/hip_runtime_api.h"

using Strings = std::vector<std::string>;

constexpr char kPool[] = PRELOAD_LIBRARY;
constexpr char kCounter[] = COUNT_DRIVER_CALLS;

inline std::string InFolder(const std::string& name) {
  return std::string(PROGRAMS) + "/" + name;
}

inline std::string Read(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct Outcome {
  int status = -1;  // as waitpid has it
  std::string out;
  std::string err;
  int64_t driver_calls = -1;  // -1: the program wrote none
};

class Program {
 public:
  explicit Program(Strings command) : command_(std::move(command)) {
    command_[0] = InFolder(command_[0]);
  }

  Program& Preload(const std::string& library) {
    preloaded_ += library + ":";
    return *this;
  }
  Program& Set(const char* variable, const std::string& value) {
    variables_.push_back({variable, value});
    return *this;
  }

  Outcome Run() const {
    std::string path = ::testing::TempDir() + "preload_runtime_test.XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    const pid_t pid = fork();
    if (pid == 0) Execute(path);
    Outcome outcome;
    EXPECT_EQ(waitpid(pid, &outcome.status, 0), pid);
    outcome.out = Read(path + "/out");
    outcome.err = Read(path + "/err");
    std::ifstream(path + "/calls") >> outcome.driver_calls;
    for (const char* file : {"/out", "/err", "/calls"}) {
      unlink((path + file).c_str());
    }
    rmdir(path.c_str());
    return outcome;
  }

 private:
  [[noreturn]] void Execute(const std::string& path) const {
    const auto redirect = [&](const char* file, int to) {
      dup2(open((path + file).c_str(), O_CREAT | O_WRONLY, 0600), to);
    };
    redirect("/out", STDOUT_FILENO);
    redirect("/err", STDERR_FILENO);
    for (const auto& [variable, value] : variables_) {
      setenv(variable, value.c_str(), 1);
    }
    setenv("DRIVER_CALLS_FILE", (path + "/calls").c_str(), 1);
    setenv("LD_PRELOAD", (preloaded_ + kCounter).c_str(), 1);
    std::vector<char*> argv;
    for (const std::string& argument : command_) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    alarm(60);  // lasts over exec
    execv(argv[0], argv.data());
    _exit(127);
  }

  Strings command_;
  std::string preloaded_;
  std::vector<std::pair<const char*, std::string>> variables_;
};

// What HIP is to the programs that open it.
inline std::string PathOfHip() {
  Dl_info info = {};
  EXPECT_NE(dladdr(reinterpret_cast<void*>(&hipStreamCreate), &info), 0);
  return info.dli_fname;
}

inline std::string PathOfSmallHip() {
  return InFolder("small_hip_98/libamdhip64.so.98");
}

// Runs the program with the pool and without it. They must print the same.
struct Comparison {
  explicit Comparison(const Strings& command) : Comparison(Program(command)) {}
  explicit Comparison(const Program& program)
      : without(program.Run()), with(Program(program).Preload(kPool).Run()) {
    // Some programs HIP itself does not survive.
    if (WIFSIGNALED(without.status)) return;
    EXPECT_EQ(with.out, without.out);
    EXPECT_EQ(with.err, without.err) << "it is quiet";
    EXPECT_EQ(with.status, without.status);
  }

  void ExpectEndedWith(int code) const {
    EXPECT_TRUE(WIFEXITED(without.status)) << without.err;
    EXPECT_EQ(WEXITSTATUS(without.status), code) << without.err;
  }
  void ExpectFewerDriverCalls() const {
    if (without.driver_calls < 0) return;  // a real GPU
    EXPECT_LT(with.driver_calls, without.driver_calls);
  }

  Outcome without;
  Outcome with;
};

// The line that HIP_STREAM_POOL_SUMMARY has the pool write.
inline std::string Summary(Program program) {
  const Outcome outcome =
      program.Preload(kPool).Set("HIP_STREAM_POOL_SUMMARY", "1").Run();
  EXPECT_EQ(outcome.status, 0);
  return outcome.err;
}

#endif  // HIP_STREAM_POOL_TESTS_PRELOAD_PRELOAD_TESTING_H_
