// SPDX-License-Identifier: Apache-2.0
//
// Included ahead of every source of the pool (-include) where it is built to be
// preloaded: its HIP calls get names of their own (forward.cc defines them), so
// that they reach the loaded HIP and not the functions that this library puts
// in the place of HIP's.
#ifndef HIP_STREAM_POOL_SRC_PRELOAD_FORWARDED_NAMES_H_
#define HIP_STREAM_POOL_SRC_PRELOAD_FORWARDED_NAMES_H_

#define hipDeviceGetStreamPriorityRange \
  forwarded_hipDeviceGetStreamPriorityRange
#define hipEventCreateWithFlags forwarded_hipEventCreateWithFlags
#define hipEventDestroy forwarded_hipEventDestroy
#define hipGetDevice forwarded_hipGetDevice
#define hipGetDeviceCount forwarded_hipGetDeviceCount
#define hipGetErrorName forwarded_hipGetErrorName
#define hipGetLastError forwarded_hipGetLastError
#define hipRuntimeGetVersion forwarded_hipRuntimeGetVersion
#define hipSetDevice forwarded_hipSetDevice
#define hipStreamCreateWithPriority forwarded_hipStreamCreateWithPriority
#define hipStreamDestroy forwarded_hipStreamDestroy
#define hipStreamGetAttribute forwarded_hipStreamGetAttribute
#define hipStreamGetDevice forwarded_hipStreamGetDevice
#define hipStreamGetFlags forwarded_hipStreamGetFlags
#define hipStreamGetId forwarded_hipStreamGetId
#define hipStreamGetPriority forwarded_hipStreamGetPriority
#define hipStreamIsCapturing forwarded_hipStreamIsCapturing
#define hipStreamQuery forwarded_hipStreamQuery
#define hipStreamSetAttribute forwarded_hipStreamSetAttribute
#define hipStreamSynchronize forwarded_hipStreamSynchronize
#define hipThreadExchangeStreamCaptureMode \
  forwarded_hipThreadExchangeStreamCaptureMode

#include "newer_hip.h"

#endif  // HIP_STREAM_POOL_SRC_PRELOAD_FORWARDED_NAMES_H_
