// SPDX-License-Identifier: Apache-2.0
#include "stderr_line.h"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace hip_stream_pool {

void PrintLine(const char* format, ...) {
  char line[1024] = "hip-stream-pool";
  const size_t start = std::strlen(line);
  va_list arguments;
  va_start(arguments, format);
  const int length =
      std::vsnprintf(line + start, sizeof(line) - start - 1, format, arguments);
  va_end(arguments);
  const size_t end = std::min(start + static_cast<size_t>(std::max(length, 0)),
                              sizeof(line) - 2);
  line[end] = '\n';
  (void)!write(STDERR_FILENO, line, end + 1);
}

}  // namespace hip_stream_pool
