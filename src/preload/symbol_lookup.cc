// SPDX-License-Identifier: Apache-2.0
//
// dlsym, for programs that open HIP at run time and ask for its functions by
// name: what leads to HIP's own function leads to the pool's instead, and
// everything else is as if this library were not there. hipGetProcAddress asks
// dlsym too.
//
// The real dlsym knows by its return address who asks (RTLD_NEXT), so it has to
// be jumped to, not called. That takes assembly, of which there is some for
// x86-64 alone; elsewhere dlsym stays what it is.
#if defined(__x86_64__)

#include <dlfcn.h>

#include <cstring>

#include "hip/hip_runtime_api.h"
#include "preload/environment.h"
#include "preload/next_definition.h"

namespace hip_stream_pool {
namespace {

struct Interposed {
  const char* name;
  void* function;
};

// nullptr if the name is none of those that this library has of HIP's.
void* FindInterposed(const char* name) {
  if (std::strncmp(name, "hip", 3) != 0) return nullptr;
  static const Interposed all[] = {
      {"hipStreamCreate", reinterpret_cast<void*>(hipStreamCreate)},
      {"hipStreamCreateWithFlags",
       reinterpret_cast<void*>(hipStreamCreateWithFlags)},
      {"hipStreamCreateWithPriority",
       reinterpret_cast<void*>(hipStreamCreateWithPriority)},
      {"hipStreamDestroy", reinterpret_cast<void*>(hipStreamDestroy)},
      {"hipDeviceReset", reinterpret_cast<void*>(hipDeviceReset)},
  };
  for (const Interposed& interposed : all) {
    if (std::strcmp(name, interposed.name) == 0) return interposed.function;
  }
  return nullptr;
}

}  // namespace
}  // namespace hip_stream_pool

// Called by dlsym below, which returns `symbol` if it is decided and jumps to
// `next` if not.
struct DlsymAnswer {
  void* symbol;
  hip_stream_pool::DlsymFunction next;  // nullptr: decided
};
extern "C" __attribute__((visibility("hidden"), used)) DlsymAnswer
hip_stream_pool_dlsym_answer(void* handle, const char* name) {
  using hip_stream_pool::FindInGlobalScope;
  using hip_stream_pool::FindInHip;
  const auto next = hip_stream_pool::NextDlsym();
  void* interposed = hip_stream_pool::FindInterposed(name);
  if (interposed == nullptr || handle == RTLD_NEXT) return {nullptr, next};
  void* found = next(handle, name);
  if (found == interposed) {
    // In the global scope, where this library has it also when no HIP is
    // loaded. Then there is no such function; let dlerror say so.
    if (FindInHip(name) != nullptr) return {interposed, nullptr};
    return {FindInGlobalScope(name), nullptr};
  }
  if (found != nullptr && found == FindInHip(name) &&
      hip_stream_pool::IsSwitchedOn()) {
    return {interposed, nullptr};
  }
  return {nullptr, next};
}

asm(R"(
  .pushsection .text
  .globl dlsym
  .type dlsym, @function
  .p2align 4
dlsym:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call hip_stream_pool_dlsym_answer
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testq %rdx, %rdx
  jne 1f
  ret
1:
  jmpq *%rdx
  .cfi_endproc
  .size dlsym, . - dlsym
  .popsection
)");

#endif
