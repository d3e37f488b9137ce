// SPDX-License-Identifier: Apache-2.0
//
// Part of every program that runs HIP. Read by the sanitizers, where they are
// built in; what their environment variables say comes first.
//
// The compiler that the HIP runtime calls on a thread's first use of a device
// sets a signal stack of its own, which AddressSanitizer would take for its own
// when the thread ends. Of a library's thread-local memory LeakSanitizer can
// find bounds that are none, and read there. With a context of two frames
// LeakSanitizer sees the allocation and its caller, so the suppressions hide
// what AMD's libraries allocate themselves, and nothing that our code does when
// they call it.
extern "C" const char* __asan_default_options() {
  return "use_sigaltstack=0:intercept_tls_get_addr=0:malloc_context_size=2";
}

// They keep much until the end of the process, and lose some: the events of
// captures and of devices that were reset, which the pool leaves to them. A
// child loses what its parent's other threads had for their end.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libamdhip64\nleak:libamd_comgr\nleak:libLLVM\n"
         "leak:libfake_cuda_runtime\nleak:__cxa_thread_atexit_impl\n";
}

// What keeps HIP's threads apart is inside libamdhip64, which is not
// instrumented. Of its own memory, ThreadSanitizer sees what is copied and
// freed by functions that it intercepts; of the simulated GPU, that HIP
// destroys a signal, or frees memory, that another thread has used before, and
// the bytes that copies and kernels move.
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libamdhip64\n"
         "race:hsa_signal_destroy\n"
         "race:hsa_amd_memory_pool_free\n"
         "race:simulated_hsa::CopyEngine::Run\n"
         "race:simulated_hsa::RunKernel\n";
}
