# Writes the source files of elementwise kernels, which are templates over a list of operators and an element type. Each
# pair that occurs is compiled by itself, as a file of two lines, so that an added operator recompiles its own list
# alone.

set(type_of_bool bool)
set(type_of_float32 float)
set(type_of_float64 double)
set(type_of_complex64 std::complex<float>)
set(type_of_complex128 std::complex<double>)
foreach(bits 8 16 32 64)
  set(type_of_int${bits} std::int${bits}_t)
  set(type_of_uint${bits} std::uint${bits}_t)
endforeach()

# Lists of ops/elementwise/lists, by file; all but arithmetic are of floating and complex dtypes only.
set(elementwise_list_arithmetic ArithmeticOps)
set(elementwise_list_functions FunctionOps)
set(elementwise_list_activations ActivationOps)
set(elementwise_floating float32 float64 complex64 complex128)

# lamella_elementwise_instances(RESULT NAMESPACE SUFFIX DTYPE...): writes the files for the dtypes whose kernels
# ops/elementwise/NAMESPACE/kernel.h makes, and appends their names to the list RESULT.
function(lamella_elementwise_instances result namespace suffix)
  set(files ${${result}})
  foreach(list arithmetic functions activations)
    foreach(dtype IN LISTS ARGN)
      if(list STREQUAL "arithmetic" OR dtype IN_LIST elementwise_floating)
        set(type ${type_of_${dtype}})
        set(operators ${elementwise_list_${list}})
        set(file ${PROJECT_BINARY_DIR}/generated/elementwise/${namespace}/${list}_${dtype}.${suffix})
        configure_file(${PROJECT_SOURCE_DIR}/ops/elementwise/instance.in ${file} @ONLY)
        list(APPEND files ${file})
      endif()
    endforeach()
  endforeach()
  set(${result} ${files} PARENT_SCOPE)
endfunction()
