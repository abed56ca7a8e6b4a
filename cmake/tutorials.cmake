# Builds each tutorial with C++ in it, which is also a project of its own.

# Lets them find pybind11, which is a Python package.
if(NOT pybind11_DIR)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir
    OUTPUT_VARIABLE pybind11_cmakedir OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(pybind11_cmakedir)
    set(pybind11_DIR "${pybind11_cmakedir}" CACHE PATH "pybind11's CMake package")
  endif()
endif()

add_custom_target(tutorials)
file(GLOB tutorial_projects CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tutorials/*/CMakeLists.txt)
foreach(tutorial_project IN LISTS tutorial_projects)
  cmake_path(GET tutorial_project PARENT_PATH tutorial)
  cmake_path(GET tutorial FILENAME name)
  add_subdirectory(${tutorial} tutorials/${name})
  get_property(targets DIRECTORY ${tutorial} PROPERTY BUILDSYSTEM_TARGETS)
  # Defines a target for each tutorial, named after its folder, which also builds what running it needs.
  add_custom_target(tutorial_${name} DEPENDS python_package ${targets})
  add_dependencies(tutorials tutorial_${name})
endforeach()
