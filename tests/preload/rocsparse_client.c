/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that knows nothing of the pool and uses a library that keeps a
 * stream and makes some of its own calls to HIP.
 */
#include <hip/hip_runtime_api.h>
#include <rocsparse/rocsparse.h>
#include <stdio.h>

int main(void) {
  for (int round = 0; round < 20; ++round) {
    rocsparse_handle handle = NULL;
    hipStream_t stream = NULL;
    hipStream_t kept = NULL;
    int version = 0;
    printf("%d ", hipStreamCreate(&stream));
    printf("%d ", rocsparse_create_handle(&handle));
    printf("%d ", rocsparse_set_stream(handle, stream));
    printf("%d ", rocsparse_get_stream(handle, &kept));
    printf("%d ", kept == stream);
    printf("%d ", rocsparse_get_version(handle, &version));
    printf("%d ", hipStreamSynchronize(kept));
    printf("%d ", rocsparse_destroy_handle(handle));
    printf("%d\n", hipStreamDestroy(stream));
  }
  return 0;
}
