# SPDX-License-Identifier: Apache-2.0
#
# cmake -DNM=nm -DLIBRARY=libamdhip64.so -DOUTPUT=exports.map -P exports.cmake
#
# A linker's version script with the symbols of AMD's library in their versions,
# which those that are defined then get.
execute_process(
  COMMAND ${NM} -D --defined-only --with-symbol-versions ${LIBRARY}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " hip[A-Za-z0-9_]+@@[A-Za-z0-9_.]+" symbols "${symbols}")
set(versions "")
foreach(symbol ${symbols})
  string(REGEX MATCH " (.+)@@(.+)" unused "${symbol}")
  list(APPEND versions ${CMAKE_MATCH_2})
  string(APPEND symbols_of_${CMAKE_MATCH_2} " ${CMAKE_MATCH_1};")
endforeach()
list(REMOVE_DUPLICATES versions)
list(SORT versions)
set(map "")
foreach(version ${versions})
  string(APPEND map "${version} {${symbols_of_${version}} };\n")
endforeach()
string(APPEND map "hip_over_cuda { global: HipOverCudaDescription; local: *; };\n")
file(WRITE ${OUTPUT} "${map}")
