#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

usage() {
  cat <<'END'
Usage: tests/hip_over_cuda/pack.sh BUILD FOLDER

Gathers in a new FOLDER what a machine with an NVIDIA GPU, and without AMD's HIP,
needs to run the tests and benchmarks that are built in BUILD (build/release for
what is to be measured): the programs, the libraries that they use, and
run_on_cuda.sh, which runs them there.
END
}

if (($# != 2)); then
  usage >&2
  exit 2
fi
build=$(realpath "$1")
folder=$2
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
mkdir "$folder"
mkdir "$folder"/{bin,lib,fallback}

# The simulated GPU's own tests, and those of a library for AMD's GPUs, stay.
mapfile -t programs < <(
  find "$build/tests" "$build/bench" -type f -perm -u+x \
    -not -path '*/simulated_hsa/*' -not -name 'rocsparse*' \
    -not -path '*/CMakeFiles/*' -not -name '*.so.*' \
    -not -name 'libfake_cuda_runtime*')
cp "${programs[@]}" "$folder/bin"
hip=$build/tests/hip_over_cuda/lib
cp "$hip"/libamdhip64.so.[0-9]* \
  "$build"/src/preload/libhip_stream_pool_preload.so "$folder/lib"

# All but the C library's, which every system has. The compiler's go apart: a
# newer system's are better, and PyTorch needs these.
LD_LIBRARY_PATH=$hip ldd "${programs[@]}" | awk '$2 == "=>" {print $3}' |
  sort -u | while read -r library; do
  case ${library##*/} in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.*) ;;
    libamdhip64.so.*) ;;
    libstdc++.so.* | libgcc_s.so.*) cp "$library" "$folder/fallback" ;;
    *) cp "$library" "$folder/lib" ;;
  esac
done
strip --strip-unneeded "$folder"/{bin,lib,fallback}/*
# exit_test's scenarios, which CMake has.
ctest --test-dir "$build" -N |
  sed -nE '/teardown|two_shared/! s/.*: runtime_exit\.//p' > "$folder/scenarios"
cp "$source/tests/hip_over_cuda/run_on_cuda.sh" \
  "$source/bench/peers/pytorch_pool.cc" "$folder"
du -sh "$folder"
