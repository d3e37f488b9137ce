// SPDX-License-Identifier: Apache-2.0
//
// Whether this process may still call HIP. HIP tears itself down while the
// process exits, and does not work in a child that was forked after HIP had
// started; in both, a handle is nothing but a number.
#ifndef HIP_STREAM_POOL_SRC_PROCESS_LIFETIME_H_
#define HIP_STREAM_POOL_SRC_PROCESS_LIFETIME_H_

namespace hip_stream_pool {

enum class ProcessState { kRunning, kExiting, kForkedChild };

ProcessState GetProcessState();

inline bool MayCallHip() { return GetProcessState() == ProcessState::kRunning; }

// From here on, GetProcessState notices exit and fork. To be called when HIP
// has started: exit handlers run last in, first out, so ours then comes before
// HIP's. Later calls add a handler that comes earlier still.
void WatchProcess();

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_PROCESS_LIFETIME_H_
