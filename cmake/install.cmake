# Installs Lamella in two layouts: under a prefix, and as the folder of the Python package, which holds everything. The
# second layout is the component `python`, of which a wheel is made:
#
#     cmake --install build/dev --prefix /usr/local
#     cmake --install build/dev --prefix somewhere/lamella --component python

include(CMakePackageConfigHelpers)
get_property(bundled GLOBAL PROPERTY LAMELLA_BUNDLED)
get_property(licenses GLOBAL PROPERTY LAMELLA_BUNDLED_LICENSES)

# lamella_install(libraries headers CMake-package export-set arguments-of-every-rule...)
function(lamella_install libdir includedir cmakedir export)
  # Headers include one another as "engine/..." and "ops/...", and users include <lamella/lamella.h>.
  install(TARGETS lamella EXPORT ${export} LIBRARY DESTINATION ${libdir} ${ARGN}
          INCLUDES DESTINATION ${includedir} ${includedir}/lamella)
  install(TARGETS ${LAMELLA_KERNEL_MODULES} LIBRARY DESTINATION ${libdir} ${ARGN})
  if(LAMELLA_ONEDNN)
    install(TARGETS lamella_onednn LIBRARY DESTINATION ${libdir} ${ARGN})
  endif()
  foreach(library IN LISTS LAMELLA_COMMUNICATION)
    install(TARGETS lamella_${library} LIBRARY DESTINATION ${libdir} ${ARGN})
  endforeach()
  install(PROGRAMS ${bundled} DESTINATION ${libdir} ${ARGN})
  foreach(entry IN LISTS licenses)
    string(REGEX MATCH "^([^:]+):(.*)$" entry "${entry}")
    install(FILES ${CMAKE_MATCH_2} DESTINATION ${libdir}/licenses RENAME ${CMAKE_MATCH_1} ${ARGN})
  endforeach()

  install(DIRECTORY engine ops DESTINATION ${includedir}/lamella ${ARGN} FILES_MATCHING PATTERN "*.h" PATTERN "ops/api" EXCLUDE)
  install(DIRECTORY ops/api/lamella python/include/lamella DESTINATION ${includedir} ${ARGN} FILES_MATCHING PATTERN "*.h")

  set(generated "${PROJECT_BINARY_DIR}/package/${export}")
  configure_package_config_file(
    cmake/lamella-config.cmake.in ${generated}/lamella-config.cmake INSTALL_DESTINATION ${cmakedir})
  write_basic_package_version_file(${generated}/lamella-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${generated}/lamella-config.cmake ${generated}/lamella-config-version.cmake DESTINATION ${cmakedir} ${ARGN})
  install(EXPORT ${export} NAMESPACE lamella:: FILE lamella-targets.cmake DESTINATION ${cmakedir} ${ARGN})
endfunction()

lamella_install("${CMAKE_INSTALL_LIBDIR}" "${CMAKE_INSTALL_INCLUDEDIR}" "${CMAKE_INSTALL_LIBDIR}/cmake/lamella" lamella)
if(LAMELLA_BINDINGS)
  set(python COMPONENT python EXCLUDE_FROM_ALL)
  lamella_install("." include cmake lamella_python ${python})
  install(TARGETS _C LIBRARY DESTINATION . ${python})
  install(FILES ${LAMELLA_OUTPUT_DIR}/_C.pyi DESTINATION . ${python})
  # With pybind11's headers an extension builds where there is nothing but the wheel and a compiler.
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c "import importlib.metadata as m, pybind11; print(pybind11.get_include(), *(f.locate() for f in m.files('pybind11') if f.name == 'LICENSE'), sep=';', end='')"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(found)
    list(POP_FRONT found folder)
    install(DIRECTORY ${folder}/pybind11 DESTINATION extern ${python} FILES_MATCHING PATTERN "*.h")
    install(FILES ${found} DESTINATION licenses RENAME pybind11-LICENSE ${python})
  endif()
endif()

# Exports the CMake package for use from the build tree.
export(EXPORT lamella NAMESPACE lamella:: FILE ${LAMELLA_OUTPUT_DIR}/cmake/lamella-targets.cmake)
set(generated "${PROJECT_BINARY_DIR}/package/lamella")
file(COPY ${generated}/lamella-config.cmake ${generated}/lamella-config-version.cmake DESTINATION ${LAMELLA_OUTPUT_DIR}/cmake)
