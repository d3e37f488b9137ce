// SPDX-License-Identifier: Apache-2.0
//
// Included ahead of every source (-include) to build the library as for HIP
// 7.1, whichever is installed: says that it is HIP 7.1, and declares what the
// installed header may lack. For where nothing of the installed HIP is linked:
// the preloaded library, and the tests over the scripted HIP.
#ifndef HIP_STREAM_POOL_SRC_NEWER_HIP_H_
#define HIP_STREAM_POOL_SRC_NEWER_HIP_H_

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
  char size[64];  // HIP may write as much
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

#endif  // HIP_STREAM_POOL_SRC_NEWER_HIP_H_
