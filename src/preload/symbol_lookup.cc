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
hip_stream_pool_dlsym_answer(void* handle, const char* name,
                             const void* caller) {
  using hip_stream_pool::FindInGlobalScope;
  const auto next = hip_stream_pool::NextDlsym();
  const DlsymAnswer undecided = {nullptr, next};
  void* const interposed = hip_stream_pool::FindInterposed(name);
  if (interposed == nullptr) return undecided;
  void* found = next(handle == RTLD_NEXT ? RTLD_DEFAULT : handle, name);
  if (found == interposed) {
    // Found where this library is, in the global scope. Without it, would HIP
    // have been? If not, the second search leaves what dlerror is to say.
    const bool there =
        FindInGlobalScope(name) != nullptr ||
        (handle == RTLD_DEFAULT &&
         hip_stream_pool::FindInLibraryOf(caller, name) != nullptr);
    if (!there) return {FindInGlobalScope(name), nullptr};
    return undecided;
  }
  if (handle != RTLD_NEXT && found != nullptr &&
      found == hip_stream_pool::FindInHip(name) &&
      hip_stream_pool::IsSwitchedOn()) {
    return {interposed, nullptr};
  }
  return undecided;
}

asm(R"(
  .pushsection .text
  .globl dlsym
  .type dlsym, @function
  .p2align 4
dlsym:
  .cfi_startproc
  endbr64
  movq (%rsp), %rdx
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
