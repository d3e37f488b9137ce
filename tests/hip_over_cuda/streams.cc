// SPDX-License-Identifier: Apache-2.0
#include "streams.h"

#include <mutex>

namespace hip_over_cuda {
namespace {

std::mutex mutex;  // of what follows, and of changes to the table
StreamEntry* first_free = nullptr;
uintptr_t used = 0;  // entries that have been taken once

// With the mutex held.
void Free(StreamEntry& entry) {
  entry.next_free = first_free;
  first_free = &entry;
}

}  // namespace

StreamEntry stream_table[kMaxStreams];

hipStream_t AddStream(cudaStream_t stream, int device) {
  std::lock_guard<std::mutex> lock(mutex);
  StreamEntry* entry = first_free;
  if (entry != nullptr) {
    first_free = entry->next_free;
  } else if (used < kMaxStreams) {
    entry = &stream_table[used++];
  } else {
    return nullptr;
  }
  entry->device = device;
  entry->cuda = stream;
  entry->alive.store(true, std::memory_order_release);
  return reinterpret_cast<hipStream_t>(entry);
}

bool RemoveStream(hipStream_t stream) {
  StreamEntry* const entry = FindEntry(stream);
  if (entry == nullptr || !entry->alive.exchange(false)) return false;
  std::lock_guard<std::mutex> lock(mutex);
  Free(*entry);
  return true;
}

void RemoveStreamsOf(int device) {
  std::lock_guard<std::mutex> lock(mutex);
  for (uintptr_t i = 0; i < used; ++i) {
    StreamEntry& entry = stream_table[i];
    if (entry.device == device && entry.alive.exchange(false)) Free(entry);
  }
}

}  // namespace hip_over_cuda
