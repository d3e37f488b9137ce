# SPDX-License-Identifier: Apache-2.0

# find_or_advise(PACKAGE TARGET VERSION NAME DEBIAN): finds the package, of that
# version or later, that has the target; unless a project that has this one as a
# folder has it already. If it is not there, says what to install, instead of
# which files CMake did not find; one more argument says what it is for.
macro(find_or_advise package target version name debian)
  if(NOT TARGET ${target})
    # HIP's own package ends CMake if a part of HIP is missing: then this line
    # is the advice.
    message(STATUS "Looking for ${name} (Debian: ${debian})")
    find_package(${package} QUIET)
    set(_found "${${package}_NOT_FOUND_MESSAGE}")
    if(${package}_FOUND)
      set(_found "${${package}_DIR} has ${${package}_VERSION}.")
    endif()
    # Abseil outside of a release has no version.
    if(NOT TARGET ${target} OR (${package}_VERSION MATCHES "^[0-9]" AND
                                ${package}_VERSION VERSION_LESS ${version}))
      message(FATAL_ERROR
        "hip_stream_pool needs ${name} ${version} or later${ARGN}. ${_found}\n"
        "On Debian: apt-get update && apt-get install ${debian}\n"
        "If it is somewhere else, say where: "
        "-DCMAKE_PREFIX_PATH=\"/opt/rocm;/another/folder\"\n")
    endif()
  endif()
endmacro()
