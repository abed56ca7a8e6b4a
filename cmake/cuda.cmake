# Decides whether the CUDA parts are built (LAMELLA_CUDA) and how.

# Matches NVIDIA devices, also under Windows' Linux.
file(GLOB cuda_devices /dev/nvidia[0-9]* /dev/dxg)

set(LAMELLA_CUDA OFF)
if(LAMELLA_WITH_CUDA STREQUAL "AUTO" AND NOT cuda_devices)
  message(STATUS "There is no CUDA device: the CUDA parts are left out (LAMELLA_WITH_CUDA=ON builds them)")
elseif(LAMELLA_WITH_CUDA)
  find_program(LAMELLA_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  if(LAMELLA_NVCC)
    set(LAMELLA_CUDA ON)
  elseif(LAMELLA_WITH_CUDA MATCHES "^(AUTO|NVCC)$")
    message(STATUS "nvcc was not found: the CUDA parts are left out")
  else()
    message(FATAL_ERROR "LAMELLA_WITH_CUDA is ${LAMELLA_WITH_CUDA}, but nvcc was not found")
  endif()
endif()

# Compiles the CUDA parts by the C++ compiler, against the emulation of CUDA.
if(LAMELLA_CUDA_EMULATION)
  set(LAMELLA_CUDA ON)
  add_subdirectory(tests/cuda/emulation)
  add_library(lamella_cuda_libraries INTERFACE)
  target_link_libraries(lamella_cuda_libraries INTERFACE emulated_cudart)
  set_target_properties(lamella_cuda_libraries PROPERTIES INTERFACE_CUDA_HEADERS
                                                          ${PROJECT_SOURCE_DIR}/tests/cuda/emulation/include)
elseif(LAMELLA_CUDA)
  set(CMAKE_CUDA_COMPILER "${LAMELLA_NVCC}" CACHE FILEPATH "CUDA compiler")
  set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}" CACHE FILEPATH "Host compiler of nvcc")
  set(CMAKE_CUDA_ARCHITECTURES 80-virtual 90-real CACHE STRING "CUDA architectures")
  # CMake 3.25 lacks nvcc's option for C++20.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O2 -DNDEBUG" CACHE STRING "nvcc's flags of a development build")
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)

  add_library(lamella_cuda_libraries INTERFACE)
  # The runtime is a shared library beside Lamella's own, which therefore loads where CUDA is absent; the driver is
  # found on the first call. (Linked statically, the runtime's thread-local page would exceed the static TLS memory left
  # to a library that is loaded late.) cuBLAS is loaded on first use: see engine/runtime/cuda/cublas.h.
  target_link_libraries(lamella_cuda_libraries INTERFACE CUDA::cudart)
  set_target_properties(lamella_cuda_libraries PROPERTIES INTERFACE_CUDA_HEADERS "${CUDAToolkit_INCLUDE_DIRS}")
  get_target_property(cudart CUDA::cudart IMPORTED_LOCATION)
  file(REAL_PATH ${cudart} cudart)
  set(beside ${LAMELLA_OUTPUT_DIR}/libcudart.so.${CUDAToolkit_VERSION_MAJOR})
  file(MAKE_DIRECTORY ${LAMELLA_OUTPUT_DIR})
  file(COPY_FILE ${cudart} ${beside} ONLY_IF_DIFFERENT)
  set_property(GLOBAL APPEND PROPERTY LAMELLA_BUNDLED ${beside})
  list(APPEND LAMELLA_RPATH "${CUDAToolkit_LIBRARY_DIR}")
endif()

# lamella_cuda_units(RESULT FILE...): puts .cu files, by their paths in the tree, into files that include several of
# them, and returns these and the others. Of the time that nvcc takes for a small file most is that of its headers, which
# it reads four times. CMake's own units are for C++.
function(lamella_cuda_units result)
  if(NOT LAMELLA_UNITY OR NOT Python_EXECUTABLE)
    list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
    set(${result} ${files} PARENT_SCOPE)
    return()
  endif()
  lamella_unity_groups(groups 800 ${ARGN})
  set(files ${ARGN})
  set(names "")
  foreach(line IN LISTS groups)
    string(REGEX MATCH "^([^ ]+) (.+)$" line "${line}")
    list(REMOVE_ITEM files ${CMAKE_MATCH_2})
    string(APPEND includes_${CMAKE_MATCH_1} "#include \"${CMAKE_MATCH_2}\"\n")
    list(APPEND names ${CMAKE_MATCH_1})
  endforeach()
  list(REMOVE_DUPLICATES names)
  list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/)
  foreach(name IN LISTS names)
    set(file ${PROJECT_BINARY_DIR}/generated/cuda/${name}.cu)
    file(CONFIGURE OUTPUT ${file} CONTENT "${includes_${name}}")
    list(APPEND files ${file})
  endforeach()
  set(${result} ${files} PARENT_SCOPE)
endfunction()

# Sets how the CUDA parts of a target are compiled. Flags are those of these files alone, so that all others are
# compiled once for builds with and without CUDA.
function(lamella_cuda_target target)
  if(NOT LAMELLA_CUDA)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(with_cuda "")
  foreach(source IN LISTS sources)
    string(REPLACE "${PROJECT_SOURCE_DIR}/" "" place "${source}")
    if(place MATCHES "/cuda/|ops/user_op/call[.]cc$|bindings/runtime[.]cc$")
      list(APPEND with_cuda ${source})
    endif()
  endforeach()
  get_target_property(headers lamella_cuda_libraries INTERFACE_CUDA_HEADERS)
  set_source_files_properties(
    ${with_cuda} PROPERTIES COMPILE_DEFINITIONS LAMELLA_WITH_CUDA=1 INCLUDE_DIRECTORIES "${headers}")
  if(LAMELLA_CUDA_EMULATION)
    emulate_cuda(${target})
  else()
    # 1835: nvcc knows not all attributes of the host's compiler. Machine code is a quarter as large compressed, and is
    # unpacked file by file when a kernel of it is first launched.
    set(compress "")
    if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 13)
      set(compress ";--compress-mode=size")
    endif()
    set_target_properties(${target} PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_RUNTIME_LIBRARY Shared)
    target_compile_options(
      ${target}
      PRIVATE
        "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;--extended-lambda;--fmad=false;--diag-suppress=1835;-Xcompiler=-Wall;-Xcompiler=-Wextra${compress}>"
        "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${LAMELLA_WERROR}>>:-Werror=all-warnings;-Xcompiler=-Werror>")
  endif()
endfunction()
