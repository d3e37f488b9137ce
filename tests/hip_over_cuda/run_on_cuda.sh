#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail

usage() {
  cat <<'END'
Usage: run_on_cuda.sh smoke|full

Runs what pack.sh has gathered beside this script on this machine's NVIDIA GPU,
writes logs to the folder $OUT (the current one, if that is not set), and prints
a summary. Exits with 1 if anything failed.

  smoke   the tests over the GPU, and that the rest can run; a minute
  full    every test, the soaks, the benchmark twice, PyTorch's pool; 8 minutes
          at the most
END
}

mode=${1:-}
[[ $mode == smoke || $mode == full ]] || { usage >&2; exit 2; }
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
bin=$here/bin
out=$(realpath "${OUT:-.}")
log=$out/$mode.log
summary=$out/summary-$mode.txt
: > "$log"
: > "$summary"
deadline=$([[ $mode == smoke ]] && echo 150 || echo 470)  # in seconds
failed=0

say() { printf '%s\n' "$*" | tee -a "$summary"; }

# run SECONDS NAME COMMAND...: logs it, and says in a line how it went.
run() {
  local limit=$1 name=$2 start=$EPOCHREALTIME output status verdict=ok counts
  shift 2
  if ((limit > deadline - SECONDS)); then limit=$((deadline - SECONDS)); fi
  if ((limit <= 0)); then
    say "$(printf '%-40s no time left' "$name")"
    failed=1
    return
  fi
  output=$(mktemp)
  timeout -k 5 "$limit" "$@" > "$output" 2>&1
  status=$?
  case $status in
    0) ;;
    77) verdict=skipped ;;
    124 | 137) verdict="NO END" failed=1 ;;
    *) verdict="FAILED ($status)" failed=1 ;;
  esac
  counts=$(sed -nE 's/^\[  (PASSED|SKIPPED|FAILED) +\] ([0-9]+) test.*/\1 \2/p' \
    "$output" | tail -n 3 | tr '\n' ' ')
  say "$(printf '%-40s %-12s %5.1f s  %s' "$name" "$verdict" \
    "$(awk "BEGIN {print $EPOCHREALTIME - $start}")" "$counts")"
  if [[ $verdict == NO* || $verdict == FAILED* ]]; then
    grep -vE '^\[ +(RUN|OK|SKIPPED|-+)|^$|Skipped$|^needs ' "$output" |
      tail -n 25 | cut -c 1-160 | sed 's/^/    /' | tee -a "$summary"
  fi
  {
    printf '\n=== %s: %s\n' "$name" "$verdict"
    cat "$output"
  } >> "$log"
  rm "$output"
}

# --- What this machine has.

torch=$(python3 -c 'import importlib.util as u
print(u.find_spec("torch").submodule_search_locations[0])' 2> /dev/null)
cuda=${CUDA_HOME:-/usr/local/cuda}
# PyTorch's own first: it is what PyTorch's pool is measured with.
places=(${torch:+"${torch%/*}/nvidia"} "$cuda/lib64" "$cuda/targets")
cudart=$(find -L "${places[@]}" -name 'libcudart.so.1[23]' 2> /dev/null |
  head -n 1)
libraries=$here/lib
if ! LD_LIBRARY_PATH=$libraries "$bin/handle_store_test" --gtest_list_tests \
  > /dev/null 2>> "$log"; then
  libraries=$here/lib:$here/fallback
fi
over_cuda=(env LD_LIBRARY_PATH="$libraries" HIP_STREAM_POOL_GPU=real
  ${cudart:+HIP_OVER_CUDA_LIBRARY="$cudart"})
say "GPU: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader \
  2>&1)"
say "System: Linux $(uname -r), $(getconf GNU_LIBC_VERSION), $(nproc) cores"
say "CUDA runtime: ${cudart:-not found}"
say "Libraries: $libraries"
programs_see=$("${over_cuda[@]}" "$bin/gpu_choice_test" 2>&1)
say "Programs see: $programs_see"
[[ $programs_see != *none* ]] || exit 1

# --- The steps.

# tests SECONDS PROGRAM...
tests() {
  local limit=$1 program filter name
  shift
  for program; do
    if [[ $program == pool_start_test ]]; then
      # Of how a pool starts, a process can see one.
      for name in $("${over_cuda[@]}" "$bin/$program" --gtest_list_tests |
        sed -n 's/^  //p'); do
        run "$limit" "$program $name" "${over_cuda[@]}" "$bin/$program" \
          "--gtest_filter=*.$name"
      done
      continue
    fi
    case $program in
      # The other half is for a machine without CUDA.
      hip_over_cuda_test) filter='HipOverCudaTest.*' ;;
      # README.md isn't here.
      xla_adapter_test) filter='-*ReadmeQuotes*' ;;
      *) filter='*' ;;
    esac
    run "$limit" "$program" "${over_cuda[@]}" "$bin/$program" \
      "--gtest_filter=$filter"
  done
}

# programs_that_end SCENARIO...
programs_that_end() {
  local scenario
  for scenario; do
    run 20 "exit_test $scenario" "${over_cuda[@]}" "$bin/exit_test" "$scenario"
  done
  run 30 plugin_test "${over_cuda[@]}" "$bin/plugin_test" - \
    "$bin/libpool_plugin_a.so" "$bin/libpool_plugin_b.so"
  run 30 "teardown_test with_drain" "${over_cuda[@]}" "$bin/teardown_test" \
    with_drain
}

# benchmark SECONDS NAME OPTION...: the table, and NAME.json.
benchmark() {
  local limit=$1 name=$2
  shift 2
  run "$limit" "stream_benchmark, $name" "${over_cuda[@]}" \
    "$bin/stream_benchmark" --table "--benchmark_out=$out/$name.json" \
    --benchmark_out_format=json "$@"
}

pytorch() {
  local program includes
  program=$(mktemp -d)/pytorch_pool
  # Not every folder with CUDA's headers has all of them.
  includes=$(find -L "$cuda/include" "${places[@]}" -path '*/crt/host_defines.h' \
    2> /dev/null | head -n 1)
  run 100 "build of pytorch_pool" g++ -O2 -std=c++17 \
    "$here/pytorch_pool.cc" -o "$program" "-I$torch/include" \
    "-I${includes%/crt/*}" "-L$torch/lib" -Wl,--no-as-needed \
    -ltorch_cuda -lc10_cuda -lc10 "$cudart" \
    "-Wl,-rpath,$torch/lib:${cudart%/*}"
  run 60 pytorch_pool "$program"
  rm -r "${program%/*}"
}

# A program that is not rebuilt, as it is and with the preloaded library.
unmodified_client() {
  run 30 "unmodified client, ms a cycle" "${over_cuda[@]}" \
    "$bin/unmodified_client"
  run 30 "preloaded client, ms a cycle" "${over_cuda[@]}" \
    LD_PRELOAD="$here/lib/libhip_stream_pool_preload.so" \
    HIP_STREAM_POOL_SUMMARY=1 "$bin/unmodified_client"
}

# soak SECONDS: the tests that give the GPU work, in random orders, until one
# fails.
soak() {
  local end=$((SECONDS + $1)) failed_before=$failed seed=1 program
  failed=0
  while ((SECONDS < end && SECONDS < deadline && ! failed)); do
    for program in runtime_test executor_test; do
      run 60 "soak, $program, seed $seed" "${over_cuda[@]}" "$bin/$program" \
        --gtest_shuffle "--gtest_random_seed=$seed" --gtest_repeat=20 \
        "--gtest_filter=-*Reset*:Simulated*"
    done
    ((++seed))
  done
  ((failed |= failed_before))
}

if [[ $mode == smoke ]]; then
  tests 40 hip_over_cuda_test runtime_test executor_test
  programs_that_end parked_and_leased fork_after_use
  benchmark 40 smoke --benchmark_min_time=0.01 \
    '--benchmark_filter=streams:14/|^client_cycle|parked:16/|libraries:0'
  pytorch
else
  mapfile -t programs < <(
    cd "$bin" && printf '%s\n' *_test* |
      grep -vxE 'exit_test|plugin_test|teardown_test|gpu_choice_test|preload_.*_test.*')
  tests 90 "${programs[@]}"
  mapfile -t scenarios < "$here/scenarios"
  programs_that_end "${scenarios[@]}"
  pytorch
  unmodified_client
  for name in benchmark-1 benchmark-2; do
    benchmark 120 "$name" --benchmark_repetitions=5 --benchmark_min_time=0.1
  done
  soak 60
fi

# The tables and PyTorch's lines.
awk '/^=== / {wanted = /^=== (stream_benchmark|pytorch_pool|unmod|preloaded client)/} wanted' \
  "$log" >> "$summary"
grep -E '^PyTorch|^cuda|^real GPU: ' "$summary"
say "$([[ $failed == 0 ]] && echo "All passed" || echo "SOMETHING FAILED") in $SECONDS s"
exit "$failed"
