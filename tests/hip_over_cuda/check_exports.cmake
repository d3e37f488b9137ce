# SPDX-License-Identifier: Apache-2.0
#
# cmake -DNM=nm -DLIBRARY=libamdhip64.so -DPROGRAMS="A;B" -P check_exports.cmake
#
# Fails if a program needs a HIP function that the library doesn't have in the
# same version.
execute_process(
  COMMAND ${NM} -D --defined-only --with-symbol-versions ${LIBRARY}
  OUTPUT_VARIABLE exported COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "@@" "@" exported "${exported}")
string(REGEX MATCHALL " hip[A-Za-z0-9_@.]+" exported "${exported}")
set(all "")
foreach(program ${PROGRAMS})
  execute_process(
    COMMAND ${NM} -D --undefined-only --with-symbol-versions ${program}
    OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " _*hip[A-Za-z0-9_@.]+" needed "${needed}")
  list(APPEND all ${needed})
  list(REMOVE_ITEM needed ${exported})
  if(needed)
    message(SEND_ERROR "${program} needs what ${LIBRARY} lacks: ${needed}")
  endif()
endforeach()
list(REMOVE_DUPLICATES all)
list(LENGTH all count)
if(count EQUAL 0)
  message(SEND_ERROR "no program needs HIP")
endif()
message("${count} HIP functions are needed, and there")
