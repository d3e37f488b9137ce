// SPDX-License-Identifier: Apache-2.0
//
// A shared library that links the pool, as an execution provider would. Built
// twice, for plugin_test to open side by side.
#include <cstdint>

#include "hip_stream_pool/create_stream.h"
#include "hip_stream_pool/stream_handle_cache.h"

using hip_stream_pool::CreateStream;
using hip_stream_pool::DestroyStream;
using hip_stream_pool::StreamHandleCache;

#define EXPORT extern "C" __attribute__((visibility("default")))

// nullptr if it failed.
EXPORT void* PluginCreateStream() {
  auto stream = CreateStream({});
  return stream.ok() ? *stream : nullptr;
}

EXPORT bool PluginDestroyStream(void* stream) {
  return DestroyStream(0, static_cast<hipStream_t>(stream)).ok();
}

EXPORT int64_t PluginStreamsParked() {
  return StreamHandleCache::Get().GetStats().parked_now;
}

EXPORT int64_t PluginForeignStreams() {
  return StreamHandleCache::Get().GetStats().refused_foreign;
}
