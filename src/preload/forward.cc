// SPDX-License-Identifier: Apache-2.0
//
// The HIP calls of the pool, which forwarded_names.h has renamed: each goes on
// to the loaded HIP. Here too is what is answered for a function that this HIP
// is too old to have, so that the pool can be built once, as for HIP 7.1, and
// then asks of each HIP what that can tell.
#include "hip/hip_runtime_api.h"
#include "newer_hip.h"
#include "preload/real_hip.h"

namespace {

// The pool runs only after this was found.
const hip_stream_pool::RealHip& Hip() {
  return *hip_stream_pool::KnownRealHip();
}

}  // namespace

extern "C" {

#define FORWARD(function, parameters, arguments) \
  hipError_t forwarded_##function parameters {   \
    return Hip().function arguments;             \
  }
HIP_STREAM_POOL_REQUIRED_FUNCTIONS(FORWARD)

const char* forwarded_hipGetErrorName(hipError_t error) {
  return Hip().hipGetErrorName == nullptr ? "" : Hip().hipGetErrorName(error);
}

// Before 5.6: the device is the current one, as far as anyone can tell.
hipError_t forwarded_hipStreamGetDevice(hipStream_t stream,
                                        hipDevice_t* device) {
  if (Hip().hipStreamGetDevice == nullptr) return Hip().hipGetDevice(device);
  return Hip().hipStreamGetDevice(stream, device);
}

// Before 7.1: a stream's device is all that is known of its identity.
hipError_t forwarded_hipStreamGetId(
    hipStream_t stream,
    unsigned long long* id) {  // NOLINT(google-runtime-int)
  if (Hip().hipStreamGetId != nullptr) return Hip().hipStreamGetId(stream, id);
  hipDevice_t device = 0;
  const hipError_t error = forwarded_hipStreamGetDevice(stream, &device);
  *id = static_cast<unsigned>(device) + 1;
  return error;
}

// Before 7.1: no stream has any.
hipError_t forwarded_hipStreamGetAttribute(hipStream_t stream,
                                           hipStreamAttrID attribute,
                                           hipStreamAttrValue* value) {
  if (Hip().hipStreamGetAttribute != nullptr) {
    return Hip().hipStreamGetAttribute(stream, attribute, value);
  }
  value->syncPolicy = hipSyncPolicyAuto;
  return hipSuccess;
}

hipError_t forwarded_hipStreamSetAttribute(hipStream_t stream,
                                           hipStreamAttrID attribute,
                                           const hipStreamAttrValue* value) {
  if (Hip().hipStreamSetAttribute == nullptr) return hipSuccess;
  return Hip().hipStreamSetAttribute(stream, attribute, value);
}

}  // extern "C"
