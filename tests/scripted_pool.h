// SPDX-License-Identifier: Apache-2.0
//
// The pool over the scripted HIP, both as at the start of a process.
#ifndef HIP_STREAM_POOL_TESTS_SCRIPTED_POOL_H_
#define HIP_STREAM_POOL_TESTS_SCRIPTED_POOL_H_

#include "hip_stream_pool/stream_handle_cache.h"
#include "scripted_hip/scripted_hip.h"

namespace hip_stream_pool {

class ScriptedPool {
 public:
  static constexpr int kDevices = 4;
  // None of the devices that the tests use, so that every call has to change
  // the device and give this one back.
  static constexpr int kCallersDevice = 3;

  // The pool keeps its events when a device is reset, as HIP does; but not when
  // the scripted HIP starts over.
  void Reset() {
    hip.FailNothing();
    hip.SetGlobalCapture(false);
    (void)cache.TrimAll();
    hip.Reset(kDevices);
  }

  void StartOver() {
    Reset();
    for (int i = 0; i < kDevices; ++i) cache.Invalidate(i);
    cache.SetMaxParkedPerKey(32);
    scripted_hip::SetCurrentDevice(kCallersDevice);
  }

  scripted_hip::ScriptedHip& hip = scripted_hip::ScriptedHip::Get();
  StreamHandleCache& cache = StreamHandleCache::Get();
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_TESTS_SCRIPTED_POOL_H_
