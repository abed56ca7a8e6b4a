# Installation: into a wheel (everything inside the package's folder) or under a prefix.

if(SKBUILD)
  set(lamella_libdir ".")
  set(lamella_includedir "include")
  set(lamella_cmakedir "cmake")
else()
  set(lamella_libdir "${CMAKE_INSTALL_LIBDIR}")
  set(lamella_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
  set(lamella_cmakedir "${CMAKE_INSTALL_LIBDIR}/cmake/lamella")
endif()

install(TARGETS lamella EXPORT lamella LIBRARY DESTINATION ${lamella_libdir})
install(TARGETS ${LAMELLA_KERNEL_MODULES} LIBRARY DESTINATION ${lamella_libdir})
if(LAMELLA_ONEDNN)
  install(TARGETS lamella_onednn LIBRARY DESTINATION ${lamella_libdir})
endif()
get_property(bundled GLOBAL PROPERTY LAMELLA_BUNDLED)
install(PROGRAMS ${bundled} DESTINATION ${lamella_libdir})
get_property(licenses GLOBAL PROPERTY LAMELLA_BUNDLED_LICENSES)
foreach(entry IN LISTS licenses)
  string(REGEX MATCH "^([^:]+):(.*)$" entry "${entry}")
  install(FILES ${CMAKE_MATCH_2} DESTINATION ${lamella_libdir}/licenses RENAME ${CMAKE_MATCH_1}.txt)
endforeach()
if(SKBUILD AND LAMELLA_BINDINGS)
  install(TARGETS _C LIBRARY DESTINATION ${lamella_libdir})
  install(FILES ${LAMELLA_OUTPUT_DIR}/_C.pyi DESTINATION ${lamella_libdir})
endif()

# <lamella/lamella.h> and <lamella/python.h>; the headers include one another as "engine/..." and "ops/...".
install(DIRECTORY engine ops DESTINATION ${lamella_includedir}/lamella FILES_MATCHING PATTERN "*.h" PATTERN "ops/api" EXCLUDE)
install(DIRECTORY ops/api/lamella DESTINATION ${lamella_includedir} FILES_MATCHING PATTERN "*.h")
if(EXISTS "${PROJECT_SOURCE_DIR}/python/include/lamella")
  install(DIRECTORY python/include/lamella DESTINATION ${lamella_includedir} FILES_MATCHING PATTERN "*.h")
endif()
target_include_directories(
  lamella INTERFACE $<INSTALL_INTERFACE:${lamella_includedir}> $<INSTALL_INTERFACE:${lamella_includedir}/lamella>)

include(CMakePackageConfigHelpers)
set(generated "${PROJECT_BINARY_DIR}/package")
configure_package_config_file(
  cmake/lamella-config.cmake.in ${generated}/lamella-config.cmake INSTALL_DESTINATION ${lamella_cmakedir})
write_basic_package_version_file(${generated}/lamella-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${generated}/lamella-config.cmake ${generated}/lamella-config-version.cmake DESTINATION ${lamella_cmakedir})
install(EXPORT lamella NAMESPACE lamella:: FILE lamella-targets.cmake DESTINATION ${lamella_cmakedir})

# The same package for use from the build tree.
export(EXPORT lamella NAMESPACE lamella:: FILE ${LAMELLA_OUTPUT_DIR}/cmake/lamella-targets.cmake)
file(COPY ${generated}/lamella-config.cmake ${generated}/lamella-config-version.cmake DESTINATION ${LAMELLA_OUTPUT_DIR}/cmake)
