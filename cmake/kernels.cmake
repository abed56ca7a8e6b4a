# Builds the CPU kernels: ops/cpu/*.cc and ops/<family>/cpu/*.cc, compiled once per instruction set, each into a module of
# its own, of which the library loads one. A module exports its table alone: if weak symbols compiled for AVX-512 were
# visible, the dynamic linker could hand them to an older machine. It links nothing of Lamella's, either.

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(known_isas x86-64-v2 x86-64-v3 x86-64-v4)
  set(single_isa x86-64-v3)
  set(vector_math mvec)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(known_isas aarch64)
  set(single_isa aarch64)
  set(vector_math "")
else()
  message(FATAL_ERROR "Lamella has no CPU kernels for ${CMAKE_SYSTEM_PROCESSOR} (known: x86-64, aarch64)")
endif()

# Finds the best of the known instruction sets that this machine runs.
function(lamella_native_isa result)
  set(isa ${single_isa})
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -dM -E -x c++ /dev/null OUTPUT_VARIABLE macros)
    set(isa x86-64-v2)
    if(macros MATCHES "__AVX2__" AND macros MATCHES "__FMA__" AND macros MATCHES "__BMI2__")
      set(isa x86-64-v3)
      if(macros MATCHES "__AVX512VL__" AND macros MATCHES "__AVX512BW__" AND macros MATCHES "__AVX512DQ__")
        set(isa x86-64-v4)
      endif()
    endif()
  endif()
  set(${result} ${isa} PARENT_SCOPE)
endfunction()

lamella_native_isa(native_isa)
if(LAMELLA_CPU_ISAS STREQUAL "all")
  set(LAMELLA_ISAS ${known_isas})
elseif(LAMELLA_CPU_ISAS STREQUAL "single")
  set(LAMELLA_ISAS ${single_isa})
elseif(LAMELLA_CPU_ISAS STREQUAL "native")
  set(LAMELLA_ISAS ${native_isa})
else()
  set(LAMELLA_ISAS ${LAMELLA_CPU_ISAS})
endif()

# Compiles a target as the kernels for an instruction set are compiled.
function(lamella_kernel_target target isa)
  if(LAMELLA_SANITIZE)
    set(optimization -O1)  # with a sanitizer's checks -O3 takes three times as long to compile
    set(of_headers -Wno-uninitialized)
  elseif(isa STREQUAL "x86-64-v2")
    set(optimization -O2)  # for processors of before 2013 the size of a wheel counts more than their speed
    set(of_headers -Wno-maybe-uninitialized)
  else()
    set(optimization -O3)
    set(of_headers -Wno-maybe-uninitialized)
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_definitions(${target} PRIVATE LAMELLA_ISA="${isa}")
  target_compile_options(
    ${target}
    PRIVATE ${optimization}
            -fwrapv  # integer overflow wraps around, as in numpy
            -fno-math-errno
            -fno-trapping-math
            -ffp-contract=off  # else the bits of a result depend on where a loop was cut
            $<IF:$<STREQUAL:${isa},aarch64>,-march=armv8-a,-march=${isa}>
            # g++ 12 warns about its own AVX-512 headers, and prefers vectors of 256 bits by default.
            "$<$<STREQUAL:${isa},x86-64-v4>:-mprefer-vector-width=512;${of_headers}>")
  target_link_libraries(${target} PRIVATE Eigen3::Eigen ${vector_math} m)
  lamella_warnings(${target})
  lamella_pch(${target} <algorithm> <array> <bit> <cmath> <complex> <cstdint> <cstring> <limits> <type_traits> <utility>
              ${PROJECT_SOURCE_DIR}/ops/simd/vec.h)
endfunction()

file(GLOB kernel_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ops/cpu/*.cc
     ${PROJECT_SOURCE_DIR}/ops/*/cpu/*.cc)
lamella_elementwise_instances(kernel_sources cpu cc bool int32 int64 uint64 ${elementwise_floating})
foreach(isa IN LISTS LAMELLA_ISAS)
  if(NOT isa IN_LIST known_isas)
    message(FATAL_ERROR "LAMELLA_CPU_ISAS names '${isa}' (known here: ${known_isas})")
  endif()
  set(module lamella_cpu_${isa})
  list(APPEND LAMELLA_KERNEL_MODULES ${module})
  add_library(${module} MODULE ${kernel_sources})
  lamella_kernel_target(${module} ${isa})
  set_target_properties(${module} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  set(exports ${PROJECT_SOURCE_DIR}/cmake/kernels.map)
  target_link_options(${module} PRIVATE LINKER:--version-script=${exports})
  set_target_properties(${module} PROPERTIES LINK_DEPENDS ${exports})
  lamella_output(${module})
endforeach()

# The modules that call other libraries.
set(calls_of_libraries ${LAMELLA_COMMUNICATION})
list(TRANSFORM calls_of_libraries PREPEND lamella_)
list(APPEND calls_of_libraries $<TARGET_NAME_IF_EXISTS:lamella_onednn>)
add_custom_target(kernels DEPENDS ${LAMELLA_KERNEL_MODULES} ${calls_of_libraries})
# Builds only the modules that this machine needs.
if(native_isa IN_LIST LAMELLA_ISAS)
  add_custom_target(kernels_native DEPENDS lamella_cpu_${native_isa} ${calls_of_libraries})
else()
  add_custom_target(kernels_native DEPENDS ${LAMELLA_KERNEL_MODULES} ${calls_of_libraries})
endif()
