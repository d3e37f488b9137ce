// SPDX-License-Identifier: Apache-2.0
//
// How the hsa_..._get_info functions answer.

#ifndef HIP_STREAM_POOL_TESTS_SIMULATED_HSA_ANSWER_H_
#define HIP_STREAM_POOL_TESTS_SIMULATED_HSA_ANSWER_H_

#include <hsa/hsa.h>

#include <cstdio>
#include <cstring>

#include "runtime.h"

namespace simulated_hsa {

template <typename T>
hsa_status_t Answer(void* to, T value) {
  std::memcpy(to, &value, sizeof(value));
  return HSA_STATUS_SUCCESS;
}

// For a question that has no answer here.
inline hsa_status_t Unknown(const char* question, int attribute) {
  if (Runtime::Get().settings().trace()) {
    std::fprintf(stderr, "simulated HSA: no answer to %s %#x\n", question,
                 static_cast<unsigned>(attribute));
  }
  return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

}  // namespace simulated_hsa

#endif  // HIP_STREAM_POOL_TESTS_SIMULATED_HSA_ANSWER_H_
