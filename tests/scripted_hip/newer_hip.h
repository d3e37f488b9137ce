// SPDX-License-Identifier: Apache-2.0
//
// Included ahead of every source (-include) to build the library as for a HIP
// newer than the installed one: says that it is HIP 7.1, and declares what the
// installed header may lack. Only for tests over the scripted HIP.
#include "hip/hip_runtime_api.h"

#if HIP_VERSION < 70100000
#undef HIP_VERSION
#define HIP_VERSION 70100000

enum hipSynchronizationPolicy {
  hipSyncPolicyAuto = 1,
  hipSyncPolicySpin = 2,
  hipSyncPolicyYield = 3,
  hipSyncPolicyBlockingSync = 4,
};
enum hipStreamAttrID { hipStreamAttributeSynchronizationPolicy = 3 };
union hipStreamAttrValue {
  hipSynchronizationPolicy syncPolicy;
};

extern "C" {
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device);
hipError_t hipStreamGetId(
    hipStream_t stream,
    unsigned long long* id);  // NOLINT(google-runtime-int)
hipError_t hipStreamGetAttribute(hipStream_t stream, hipStreamAttrID attribute,
                                 hipStreamAttrValue* value);
hipError_t hipStreamSetAttribute(hipStream_t stream, hipStreamAttrID attribute,
                                 const hipStreamAttrValue* value);
}
#endif
