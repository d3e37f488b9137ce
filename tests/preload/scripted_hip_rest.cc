// SPDX-License-Identifier: Apache-2.0
//
// The functions of HIP that the pool itself never calls, and a program does:
// with them, the scripted HIP is a libamdhip64 to run a program on.
#include "hip/hip_runtime_api.h"
#include "scripted_hip/scripted_hip.h"

extern "C" {

hipError_t hipStreamCreate(hipStream_t* stream) {
  return hipStreamCreateWithFlags(stream, hipStreamDefault);
}

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
  if (stream != nullptr) return hipStreamCreateWithPriority(stream, flags, 0);
  scripted_hip::SetLastError(hipErrorInvalidValue);
  return hipErrorInvalidValue;
}

}  // extern "C"
