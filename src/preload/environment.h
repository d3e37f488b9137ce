// SPDX-License-Identifier: Apache-2.0
//
// What the environment says of the preloaded library. README has the table.
#ifndef HIP_STREAM_POOL_SRC_PRELOAD_ENVIRONMENT_H_
#define HIP_STREAM_POOL_SRC_PRELOAD_ENVIRONMENT_H_

namespace hip_stream_pool {

// HIP_STREAM_POOL_PRELOAD: "off" and "0" leave every stream to HIP. Read once;
// what is none of "on", "1", "off" and "0" is reported on stderr.
bool IsSwitchedOn();

// HIP_STREAM_POOL_SUMMARY: set, and neither "0" nor "off". Read once.
bool IsSummaryWanted();

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_PRELOAD_ENVIRONMENT_H_
