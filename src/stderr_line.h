// SPDX-License-Identifier: Apache-2.0
#ifndef HIP_STREAM_POOL_SRC_STDERR_LINE_H_
#define HIP_STREAM_POOL_SRC_STDERR_LINE_H_

namespace hip_stream_pool {

// Writes "hip-stream-pool" and the text to stderr in one piece. Takes no lock
// and no memory: exit may have been called in the midst of anything.
__attribute__((format(printf, 1, 2))) void PrintLine(const char* format, ...);

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_STDERR_LINE_H_
