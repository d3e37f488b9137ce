// SPDX-License-Identifier: Apache-2.0
//
// The symbols of a code object, which is an ELF file in memory.

#ifndef HIP_STREAM_POOL_TESTS_SIMULATED_HSA_CODE_OBJECT_H_
#define HIP_STREAM_POOL_TESTS_SIMULATED_HSA_CODE_OBJECT_H_

#include <string>
#include <string_view>
#include <vector>

namespace simulated_hsa {

struct CodeObjectSymbol {
  std::string name;
  size_t size = 0;
  std::string_view bytes;  // initial value; empty if it is all zero
};

// The data symbols: variables, and kernel descriptors (named "kernel.kd").
// None if `code_object` is not a 64-bit ELF file.
std::vector<CodeObjectSymbol> ReadSymbols(std::string_view code_object);

}  // namespace simulated_hsa

#endif  // HIP_STREAM_POOL_TESTS_SIMULATED_HSA_CODE_OBJECT_H_
