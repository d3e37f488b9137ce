// SPDX-License-Identifier: Apache-2.0
//
// How versions of HIP differ where the pool relies on it: a line for each fact.
#ifndef HIP_STREAM_POOL_SRC_HIP_BEHAVIORS_H_
#define HIP_STREAM_POOL_SRC_HIP_BEHAVIORS_H_

namespace hip_stream_pool {

struct Behaviors {
  // `version` is what hipRuntimeGetVersion says; as HIP_VERSION.
  explicit Behaviors(int version)
      : calls_check_streams(version < 70000000),
        query_waits_for_null_stream(version < 60000000),
        query_breaks_captures(version >= 60100000) {}

  // Every call with a stream that does not exist returns an error. From 7.0 on
  // it is undefined behavior: only hipStreamGetDevice and hipStreamGetId check.
  // (Source; HipFactsTest; crashes were seen on 7.2.4.)
  bool calls_check_streams;

  // Query and synchronize of a stream with hipStreamDefault first queue a
  // marker behind the null stream, and so wait for that. (Source;
  // HipFactsTest, on 5.2.3 and 5.7.1.)
  bool query_waits_for_null_stream;

  // A query of any stream invalidates a capture in global mode of any other
  // thread, unless the asking thread's mode is relaxed. Before, 5.2.3 answers,
  // and 5.6 to 6.0 refuse in every mode, with no harm. (Source; HipFactsTest,
  // on 6.4.3 and 7.2.4.)
  bool query_breaks_captures;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_HIP_BEHAVIORS_H_
