// SPDX-License-Identifier: Apache-2.0

#include "blit_kernels.h"

#include <cstdint>
#include <cstring>

namespace simulated_hsa {
namespace {

// The structs are the kernels' arguments as they lie in memory: to HIP 5.7
// ("5"), from HIP 6.0 ("6"), or in both.

template <typename Arguments>
const Arguments& As(const void* arguments) {
  return *static_cast<const Arguments*>(arguments);
}

struct CopyArguments5 {
  const char* from;
  char* to;
  uint64_t from_offset;
  uint64_t to_offset;
  uint64_t words_and_one;  // of 4 bytes
  uint32_t remaining_bytes;
};

void Copy5(const void* arguments) {
  const auto& copy = As<CopyArguments5>(arguments);
  std::memmove(copy.to + copy.to_offset, copy.from + copy.from_offset,
               (copy.words_and_one - 1) * 4 + copy.remaining_bytes);
}

struct CopyArguments6 {
  const char* from;
  char* to;
  uint64_t size;
};

void Copy6(const void* arguments) {
  const auto& copy = As<CopyArguments6>(arguments);
  std::memmove(copy.to, copy.from, copy.size);
}

struct FillArguments5 {
  char* to[4];  // for elements of 1, 2, 4, 8 bytes; three of them are null
  const char* pattern;
  uint32_t pattern_elements;
  uint64_t offset;  // in elements
  uint64_t patterns;
};

void Fill5(const void* arguments) {
  const auto& fill = As<FillArguments5>(arguments);
  int kind = 0;
  while (kind < 3 && fill.to[kind] == nullptr) ++kind;
  const size_t element_size = size_t{1} << kind;
  const size_t pattern_size = fill.pattern_elements * element_size;
  char* to = fill.to[kind] + fill.offset * element_size;
  for (uint64_t i = 0; i < fill.patterns; ++i, to += pattern_size) {
    std::memcpy(to, fill.pattern, pattern_size);
  }
}

struct FillArguments6 {
  char* to;
  const char* pattern;
  uint32_t pattern_elements;
  uint32_t element_size;
  const char* end;
};

void Fill6(const void* arguments) {
  const auto& fill = As<FillArguments6>(arguments);
  const size_t pattern_size = size_t{fill.pattern_elements} * fill.element_size;
  for (char* to = fill.to; to < fill.end; to += pattern_size) {
    std::memcpy(to, fill.pattern, pattern_size);
  }
}

struct Fill2DArguments {
  char* to[4];  // as in FillArguments5
  const char* pattern;
  uint32_t pattern_elements;
  uint64_t offset;  // the rest in elements
  uint64_t width;
  uint64_t height;
  uint64_t pitch;
};

void Fill2D(const void* arguments) {
  const auto& fill = As<Fill2DArguments>(arguments);
  for (uint64_t y = 0; y < fill.height; ++y) {
    FillArguments5 row = {};
    std::memcpy(row.to, fill.to, sizeof(row.to));
    row.pattern = fill.pattern;
    row.pattern_elements = fill.pattern_elements;
    row.offset = fill.offset + y * fill.pitch;
    row.patterns = fill.width / fill.pattern_elements;
    Fill5(&row);
  }
}

struct CopyRectArguments {
  struct Layout {  // in elements
    uint64_t row_pitch;
    uint64_t slice_pitch;
    uint64_t offset;
    uint64_t unused;
  };
  const char* from;
  char* to;
  uint64_t unused[2];
  Layout from_layout;
  Layout to_layout;
  uint64_t x, y, z;  // in elements
  uint64_t element_size;
};

void CopyRect(const void* arguments) {
  const auto& copy = As<CopyRectArguments>(arguments);
  const auto row = [&](const CopyRectArguments::Layout& layout, uint64_t y,
                       uint64_t z) {
    return (layout.offset + y * layout.row_pitch + z * layout.slice_pitch) *
           copy.element_size;
  };
  for (uint64_t z = 0; z < copy.z; ++z) {
    for (uint64_t y = 0; y < copy.y; ++y) {
      std::memmove(copy.to + row(copy.to_layout, y, z),
                   copy.from + row(copy.from_layout, y, z),
                   copy.x * copy.element_size);
    }
  }
}

}  // namespace

KernelFunction FindBlitKernel(std::string_view symbol,
                              std::string_view code_object) {
  struct Entry {
    std::string_view symbol;
    KernelFunction to_5;
    KernelFunction from_6;
  };
  static constexpr Entry kEntries[] = {
      {"__amd_rocclr_copyBuffer.kd", Copy5, Copy6},
      {"__amd_rocclr_copyBufferRect.kd", CopyRect, CopyRect},
      {"__amd_rocclr_copyBufferRectAligned.kd", CopyRect, CopyRect},
      {"__amd_rocclr_fillBufferAligned.kd", Fill5, Fill6},
      {"__amd_rocclr_fillBufferAligned2D.kd", Fill2D, Fill2D},
  };
  for (const Entry& entry : kEntries) {
    if (entry.symbol != symbol) continue;
    // The name of an argument that HIP 6 added; its metadata hold it as text.
    const bool is_6 = code_object.find("next_chunk") != std::string_view::npos;
    return is_6 ? entry.from_6 : entry.to_5;
  }
  return nullptr;
}

}  // namespace simulated_hsa
