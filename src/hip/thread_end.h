// SPDX-License-Identifier: Apache-2.0
#ifndef HIP_STREAM_POOL_SRC_HIP_THREAD_END_H_
#define HIP_STREAM_POOL_SRC_HIP_THREAD_END_H_

namespace hip_stream_pool {

// Calls `call` when this thread ends, or exit is called on it; `is_main` says
// whether it is the process's first. The main thread's call comes before the
// destructors of thread-local objects that were made earlier. `call` is always
// the same function. The preloaded library has its own version.
void CallAtThreadEnd(void (*call)(bool is_main));

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_HIP_THREAD_END_H_
