# The Python module lamella._C.

if(LAMELLA_BINDINGS)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
  if(NOT pybind11_DIR)
    execute_process(
      COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir
      OUTPUT_VARIABLE pybind11_cmakedir OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(pybind11_cmakedir)
      set(pybind11_DIR "${pybind11_cmakedir}" CACHE PATH "pybind11's CMake package")
    endif()
  endif()
  set(PYBIND11_FINDPYTHON ON)
  find_package(pybind11 3 REQUIRED CONFIG)

  file(GLOB_RECURSE binding_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/bindings/*.cc)
  # Code for each operator: no time would be saved by compiling these with others.
  file(GLOB of_each_operator CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/bindings/operators_*.cc)
  set_source_files_properties(${of_each_operator} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  pybind11_add_module(_C MODULE NO_EXTRAS ${binding_sources})
  target_link_libraries(_C PRIVATE lamella lamella_settings)
  lamella_target(_C <pybind11/pybind11.h>)
  # Every function that it calls is bound when it loads: a first call costs no look-up, and none a second jump.
  target_link_options(_C PRIVATE LINKER:-Bsymbolic LINKER:-z,now)
  lamella_output(_C)
  if(LAMELLA_SANITIZE)
    # The module is loaded with the sanitizer's runtime only, which tests/CMakeLists.txt sees to. The package's other
    # files are found beside it.
    file(GLOB package_files RELATIVE ${PROJECT_SOURCE_DIR}/python/lamella ${PROJECT_SOURCE_DIR}/python/lamella/*)
    list(FILTER package_files EXCLUDE REGEX "^(_C[.].*|cmake|include|__pycache__|.*[.]so)$")
    file(MAKE_DIRECTORY ${LAMELLA_OUTPUT_DIR})
    foreach(file IN LISTS package_files)
      file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/lamella/${file} ${LAMELLA_OUTPUT_DIR}/${file} SYMBOLIC)
    endforeach()
  else()
    # The types of all operators, as the module itself lists them.
    set(stubs ${PROJECT_SOURCE_DIR}/python/stubs)
    add_custom_command(
      TARGET _C POST_BUILD COMMAND ${Python_EXECUTABLE} ${stubs}/make_stubs.py $<TARGET_FILE:_C> ${LAMELLA_OUTPUT_DIR}/_C.pyi
      COMMENT "Writing the stubs of lamella._C" VERBATIM)
    set_target_properties(_C PROPERTIES LINK_DEPENDS "${stubs}/make_stubs.py;${stubs}/_C.pyi.in")
  endif()
endif()

# Everything that `import lamella` needs on this machine.
add_custom_target(python_package DEPENDS lamella kernels_native $<TARGET_NAME_IF_EXISTS:_C>)
