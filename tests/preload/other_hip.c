/* SPDX-License-Identifier: Apache-2.0
 *
 * Is named as a HIP runtime, and is none: it has streams, which are its own,
 * and none of what the pool needs.
 */
#include <hip/hip_runtime_api.h>
#include <stdlib.h>

static char mine[64];
static int next;

hipError_t hipStreamCreate(hipStream_t* stream) {
  *stream = (hipStream_t)&mine[next++ % sizeof(mine)];
  return hipSuccess;
}

/* Another HIP's stream is the end. */
static void Check(hipStream_t stream) {
  const char* given = (const char*)stream;
  if (given < mine || given >= mine + sizeof(mine)) abort();
}

hipError_t hipStreamDestroy(hipStream_t stream) {
  Check(stream);
  return hipSuccess;
}

hipError_t hipStreamQuery(hipStream_t stream) {
  Check(stream);
  return hipSuccess;
}
