# SPDX-License-Identifier: Apache-2.0
#
# cmake --install: the headers, the library, and what finds them: a CMake
# package and a pkg-config file. The whole may be moved afterwards.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/hip_stream_pool)

if(TARGET hip_stream_pool)
  install(DIRECTORY include/hip_stream_pool TYPE INCLUDE)
  install(TARGETS hip_stream_pool EXPORT hip_stream_pool-targets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT hip_stream_pool-targets NAMESPACE hip_stream_pool::
          DESTINATION ${package_folder})

  configure_package_config_file(
    cmake/hip_stream_pool-config.cmake.in
    ${PROJECT_BINARY_DIR}/hip_stream_pool-config.cmake
    INSTALL_DESTINATION ${package_folder}
    NO_SET_AND_CHECK_MACRO)
  # Before 1.0 a new minor version may break what the last one had.
  write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/hip_stream_pool-config-version.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES
    ${PROJECT_BINARY_DIR}/hip_stream_pool-config.cmake
    ${PROJECT_BINARY_DIR}/hip_stream_pool-config-version.cmake
    DESTINATION ${package_folder})

  # pkg-config: HIP has no file of its own, so its place goes into ours.
  file(RELATIVE_PATH PKGCONFIG_PREFIX
       ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  file(RELATIVE_PATH PKGCONFIG_LIBDIR
       ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
  file(RELATIVE_PATH PKGCONFIG_INCLUDEDIR
       ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  configure_file(cmake/hip_stream_pool.pc.in hip_stream_pool.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/hip_stream_pool.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# Loaded with LD_PRELOAD, never linked.
if(TARGET hip_stream_pool_preload)
  install(TARGETS hip_stream_pool_preload
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
