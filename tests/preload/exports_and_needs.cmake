# SPDX-License-Identifier: Apache-2.0
#
# cmake -D LIBRARY=... -D NM=... -D OBJDUMP=... -P exports_and_needs.cmake
set(expected
  dlsym hipDeviceReset hipStreamCreate hipStreamCreateWithFlags
  hipStreamCreateWithPriority hipStreamDestroy)
execute_process(COMMAND ${NM} --dynamic --defined-only --format=posix ${LIBRARY}
                OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE " [^\n]*\n" ";" exported "${lines}")
list(SORT exported)
list(REMOVE_ITEM exported "")
if(NOT exported STREQUAL expected)
  message(FATAL_ERROR "exported: ${exported}\nexpected: ${expected}")
endif()

execute_process(COMMAND ${OBJDUMP} --private-headers ${LIBRARY}
                OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "NEEDED +[^ \n]+" needed "${headers}")
foreach(library ${needed})
  if(NOT library MATCHES "NEEDED +(libc|libdl|libpthread|ld-linux[^.]*)\\.so")
    message(FATAL_ERROR "${library}")
  endif()
endforeach()
