// SPDX-License-Identifier: Apache-2.0
//
// A program that knows nothing of the pool and uses a library that keeps a
// stream and makes calls of its own to HIP. In C++: the library's header is no
// C to clang.
#include <cstdio>

#include "hip/hip_runtime_api.h"
#include "rocsparse/rocsparse.h"

int main() {
  for (int round = 0; round < 20; ++round) {
    rocsparse_handle handle = nullptr;
    hipStream_t stream = nullptr;
    hipStream_t kept = nullptr;
    int version = 0;
    std::printf("%d ", hipStreamCreate(&stream));
    std::printf("%d ", rocsparse_create_handle(&handle));
    std::printf("%d ", rocsparse_set_stream(handle, stream));
    std::printf("%d ", rocsparse_get_stream(handle, &kept));
    std::printf("%d ", kept == stream);
    std::printf("%d ", rocsparse_get_version(handle, &version));
    std::printf("%d ", hipStreamSynchronize(kept));
    std::printf("%d ", rocsparse_destroy_handle(handle));
    std::printf("%d\n", hipStreamDestroy(stream));
  }
  return 0;
}
