# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What bench/run, tests/run and .ci/run share: installing what is missing, and
# configuring and building a preset. To be sourced from the top of the tree.
# Everything here talks on stderr, so that stdout is for results.

# What the build needs: Debian's package, and what shows that it is there, be it
# from that package, from ROCm's own in /opt/rocm, or from anywhere in
# CMAKE_PREFIX_PATH. A command, or a file under a prefix; a pattern will do.
# shellcheck disable=SC2034 # used where this is sourced
readonly BUILD_NEEDS=(
  "g++               command c++"
  "cmake             command cmake"
  "ninja-build       command ninja"
  "libamdhip64-dev   file    include/hip/hip_runtime_api.h"
  "hipcc             command hipcc"  # Debian's CMake package of HIP asks for it
  "libhsa-runtime-dev file   include/hsa/hsa_ext_amd.h"
  "libabsl-dev       file    include/absl/functional/any_invocable.h"
  "libgtest-dev      file    include/gtest/gtest.h"
  "libgmock-dev      file    include/gmock/gmock.h"
  "libbenchmark-dev  file    include/benchmark/benchmark.h"
)
# HIP's CMake package looks for the compiler's own library, if that is clang.
# shellcheck disable=SC2034
readonly CLANG_NEEDS=(
  "clang             command clang++"
  "libclang-rt-dev   file    lib/clang/*/lib/linux"
)

ROCM=${ROCM_PATH:-/opt/rocm}
if [[ -d $ROCM ]]; then
  PATH+=:$ROCM/bin
  export CMAKE_PREFIX_PATH=${CMAKE_PREFIX_PATH:+$CMAKE_PREFIX_PATH:}$ROCM
fi

say() { printf '%s\n' "$*" >&2; }

is_there() {  # command NAME | file PATH
  if [[ $1 == command ]]; then
    command -v "$2" > /dev/null
    return
  fi
  local prefix prefixes
  IFS=: read -ra prefixes <<< "/usr:/usr/local:${CMAKE_PREFIX_PATH:-}"
  for prefix in "${prefixes[@]}"; do
    [[ -n $prefix ]] && compgen -G "$prefix/$2" > /dev/null && return
  done
  return 1
}

a_person_is_there() { [[ -t 0 && -t 1 ]]; }

# install_missing NEEDS...: each as in BUILD_NEEDS. Returns with all of them
# there, or ends the script.
install_missing() {
  local need package kind what missing=()
  for need in "$@"; do
    read -r package kind what <<< "$need"
    is_there "$kind" "$what" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0

  say "Missing: ${missing[*]}"
  if ! command -v apt-get > /dev/null; then
    say "These are Debian's names. Install the same with this system's package" \
      "manager (ROCm's own packages do as well), then start again."
    exit 1
  fi
  local as_root=() install=(
    apt-get install -y --no-install-recommends "${missing[@]}")
  if ((EUID != 0)); then
    as_root=(sudo)
    if ! command -v sudo > /dev/null ||
      { ! a_person_is_there && ! sudo -n true 2> /dev/null; }; then
      say "Run this as root, then start again:"
      say "  apt-get update && ${install[*]}"
      exit 1
    fi
  fi
  if a_person_is_there; then
    local answer
    read -rp "Run, as root, ${install[*]}? [Y/n] " answer
    if [[ -n $answer && $answer != [Yy]* ]]; then
      say "Nothing was installed."
      exit 1
    fi
  fi

  # As root, without questions.
  quietly() {
    say "Running $*"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "$@" < /dev/null >&2
  }
  # Fresh containers have no package lists, old machines have stale ones.
  if ! compgen -G '/var/lib/apt/lists/*_Packages*' > /dev/null; then
    quietly apt-get update
  fi
  quietly "${install[@]}" ||
    { quietly apt-get update && quietly "${install[@]}"; } || {
    say "apt-get could not install what is missing: ${missing[*]}"
    exit 1
  }
}

# build_preset PRESET [TARGETS...]: into build/PRESET.
build_preset() {
  local preset=$1
  shift
  say "Configuring and building build/$preset"
  # Warnings and errors go to stderr.
  cmake --preset "$preset" --log-level=WARNING > /dev/null
  cmake --build --preset "$preset" ${1:+--target "$@"} >&2
}
