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

#include "preload/definitions.h"
#include "preload/environment.h"
#include "preload/interposed_calls.h"
#include "preload/real_hip.h"

namespace hip_stream_pool {
namespace {

// kFunctions if this library has none of that name.
Function FunctionOf(const char* name) {
  int i = std::strncmp(name, "hip", 3) == 0 ? 0 : kFunctions;
  while (i < kFunctions && std::strcmp(name, kFunctionNames[i]) != 0) ++i;
  return static_cast<Function>(i);
}

// In place of HIP's own function the pool's, which goes on to that HIP whoever
// calls it; everything else is as found.
void* PooledIfHips(Function function, void* found) {
  if (found == nullptr || !IsSwitchedOn()) return found;
  const RealHip* hip = KnownRealHip();
  if (hip == nullptr) {
    const Definition definition = FindByAddress(function, found);
    if (!definition.is_hips) return found;
    if (definition.several_hips) StandAside(kSecondHip);
    hip = GetRealHip(found);
  }
  return hip != nullptr && found == hip->own[function]
             ? InterposedFor(function).pooled
             : found;
}

// A program's own dl_iterate_phdr may call dlsym in turn.
void LearnGlobalScopeOnce() {
  thread_local bool learns = false;
  if (learns) return;
  learns = true;
  LearnGlobalScope();
  learns = false;
}

void* FindWithoutThisLibrary(void* handle, Function function,
                             const void* caller) {
  void* found = NextDlsym()(handle, kFunctionNames[function]);
  if (found != InterposedFor(function).exported) return found;
  // Found where this library is, in the global scope.
  found = FindInGlobalScope(function);
  if (found == nullptr && handle == RTLD_DEFAULT) {
    found = FindInGroupsOf(caller, function);
    // Of the search before. NOLINTNEXTLINE(concurrency-mt-unsafe): by thread.
    if (found != nullptr) (void)dlerror();
  }
  return found;
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
  using namespace hip_stream_pool;  // NOLINT(google-build-using-namespace)
  LearnGlobalScopeOnce();
  const DlsymAnswer undecided = {nullptr, NextDlsym()};
  const Function function = FunctionOf(name);
  if (function == kFunctions) return undecided;
  void* found = nullptr;
  if (handle != RTLD_NEXT) {
    found = FindWithoutThisLibrary(handle, function, caller);
  } else if (!FindNext(caller, function, &found)) {
    return undecided;
  }
  return {PooledIfHips(function, found), nullptr};
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
