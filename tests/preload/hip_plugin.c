/* SPDX-License-Identifier: Apache-2.0
 *
 * A shared library that links HIP and knows nothing of the pool, such as a
 * Python extension. opens_library opens it.
 */
#include <hip/hip_runtime_api.h>
#include <stdio.h>

void UseStreams(void) {
  for (int round = 0; round < 20; ++round) {
    hipStream_t a = NULL;
    hipStream_t b = NULL;
    printf("%d ", hipStreamCreate(&a));
    printf("%d ", hipStreamCreate(&b));
    printf("%d ", a != b);
    printf("%d ", hipStreamQuery(a)); /* is it of the same HIP? */
    printf("%d ", hipStreamDestroy(a));
    printf("%d\n", hipStreamDestroy(b));
  }
}
