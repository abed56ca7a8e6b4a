# Builds the Python module lamella._C.

set(LAMELLA_PYTHON_HEADERS "" CACHE PATH "Headers of another Python than the one that builds, for which the module is compiled")
set(LAMELLA_PYTHON_TAG "" CACHE STRING "Name of that Python in the module's file: cpython-313-x86_64-linux-gnu")

if(LAMELLA_BINDINGS)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
  if(LAMELLA_PYTHON_HEADERS)
    set(Python_SOABI ${LAMELLA_PYTHON_TAG})
    set_target_properties(Python::Module PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${LAMELLA_PYTHON_HEADERS}")
  endif()
  file(GLOB_RECURSE binding_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/bindings/*.cc)
  # These files are not unity-built: they hold code for each operator, so that compiling them with others saves no time.
  file(GLOB of_each_operator CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/bindings/operators_*.cc)
  set_source_files_properties(${of_each_operator} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  python_add_library(_C MODULE WITH_SOABI ${binding_sources})
  set_target_properties(_C PROPERTIES CXX_VISIBILITY_PRESET hidden)
  target_link_libraries(_C PRIVATE lamella lamella_settings)
  set(headers containers convert errors method tensor_object)
  list(TRANSFORM headers REPLACE ".+" "${PROJECT_SOURCE_DIR}/python/bindings/\\0.h")
  lamella_target(_C <Python.h> ${headers})
  lamella_calls(_C)
  lamella_cuda_target(_C)
  # Binds every called function at load time: the first call needs no look-up, and no call a second jump.
  target_link_options(_C PRIVATE LINKER:-Bsymbolic LINKER:-z,now)
  lamella_output(_C)
  if(LAMELLA_SANITIZE OR LAMELLA_CUDA_EMULATION)
    # A module for tests: under a sanitizer it loads only with its runtime, which tests/CMakeLists.txt provides. Links to
    # the package's other files lie beside it.
    file(GLOB package_files RELATIVE ${PROJECT_SOURCE_DIR}/python/lamella ${PROJECT_SOURCE_DIR}/python/lamella/*)
    list(FILTER package_files EXCLUDE REGEX "^(_C[.].*|cmake|include|__pycache__|.*[.]so)$")
    file(MAKE_DIRECTORY ${LAMELLA_OUTPUT_DIR})
    foreach(file IN LISTS package_files)
      file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/lamella/${file} ${LAMELLA_OUTPUT_DIR}/${file} SYMBOLIC)
    endforeach()
  elseif(NOT LAMELLA_PYTHON_HEADERS)
    # Writes the stubs from the types of all operators, which the module itself lists.
    set(stubs ${PROJECT_SOURCE_DIR}/python/stubs)
    add_custom_command(
      TARGET _C POST_BUILD COMMAND ${Python_EXECUTABLE} ${stubs}/make_stubs.py $<TARGET_FILE:_C> ${LAMELLA_OUTPUT_DIR}/_C.pyi
      COMMENT "Writing the stubs of lamella._C" VERBATIM)
    set_target_properties(_C PROPERTIES LINK_DEPENDS "${stubs}/make_stubs.py;${stubs}/_C.pyi.in")
  endif()
endif()

# Builds everything that `import lamella` needs on this machine.
add_custom_target(python_package DEPENDS lamella kernels_native $<TARGET_NAME_IF_EXISTS:_C>)
