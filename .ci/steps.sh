# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What .ci/run and .ci/full are made of. To be sourced from the top of the tree.
set -euo pipefail
exec < /dev/null
source cmake/setup.sh

# What is said again at the end.
summary=$(mktemp)
at_exit() {
  rm -f "$summary"
  local left
  left=$(jobs -p)
  # shellcheck disable=SC2086 # words
  if [[ -n $left ]]; then kill $left 2> /dev/null || true; fi
}
trap at_exit EXIT

now() { printf '%d:%02d' $((SECONDS / 60)) $((SECONDS % 60)); }
step() { printf '\n=== %s [%s]\n' "$1" "$(now)"; }
# Also to the summary.
report() { tee -a "$summary"; }
finish() {
  step "Passed"
  cat "$summary"
}

# A machine that does something else besides can upset what looks at the clock:
# what fails is run once more, and named in the summary.
readonly AGAIN=(--repeat until-pass:2)

# second_runs LOG: the tests that this output of ctest says failed.
second_runs() {
  sed -nE 's/.* Test +#[0-9]+: (.*[^ .]) ?\.*\*\*\*(Failed|Timeout|Exception|Abort).*/  needed a second run: \1/p' \
    "$1" | sort -u
}

# run_tests PRESET CTEST_ARGUMENTS...
run_tests() {
  local log
  log=$(mktemp)
  tests/run --preset "$1" -- "${@:2}" 2>&1 | tee "$log"
  printf '%s: %s\n' "$1" "$(grep 'tests passed' "$log")" >> "$summary"
  second_runs "$log" >> "$summary"
  rm "$log"
}

# Other releases of Debian: start_packages SUITE..., which mostly waits for the
# mirror and the disk, beside what comes next; then, for each, on_debian SUITE
# CTEST_ARGUMENTS...
declare -A packages_of
start_packages() {
  install_missing "debootstrap command debootstrap"
  mkdir -p build/debian
  local suite
  for suite; do
    .ci/debian packages "$suite" > "build/debian/$suite.out" 2>&1 &
    packages_of[$suite]=$!
  done
}
# Some move: on some days their packages do not fit each other.
on_debian() {
  step "Debian $1"
  if ! wait "${packages_of[$1]}"; then
    tail -n 1 "build/debian/$1.out"
    printf '%s: could not be installed today; not tested\n' "$1" | report
    return
  fi
  .ci/debian test "$@" | report
  second_runs "build/debian/$1.log" | report
}
