# Writes the source files of elementwise kernels, which are templates over a list of operators and an element type. Each
# pair that occurs is compiled by itself, or with few others, as a file of a line each, so that an added operator
# recompiles its own list alone.

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

# lamella_elementwise_instances(RESULT NAMESPACE SUFFIX GROUP...): writes a file for each list and group of dtypes, such as
# float32 or int32+uint32, with the kernels that ops/elementwise/NAMESPACE/kernel.h makes, and appends their names to the
# list RESULT.
function(lamella_elementwise_instances result namespace suffix)
  set(files ${${result}})
  foreach(list arithmetic functions activations)
    set(operators ${elementwise_list_${list}})
    foreach(group IN LISTS ARGN)
      string(REPLACE "+" ";" dtypes ${group})
      if(NOT list STREQUAL "arithmetic")
        list(FILTER dtypes INCLUDE REGEX "^(float|complex)")
      endif()
      set(instances "")
      foreach(dtype IN LISTS dtypes)
        string(APPEND instances "template void lamella::${namespace}::fill_elementwise<${type_of_${dtype}}, "
                                "lamella::${operators}>(ElementwiseTable& table, int first);\n")
      endforeach()
      if(instances)
        string(REPLACE ";" "_" name "${dtypes}")
        set(file ${PROJECT_BINARY_DIR}/generated/elementwise/${namespace}/${list}_${name}.${suffix})
        configure_file(${PROJECT_SOURCE_DIR}/ops/elementwise/instance.in ${file} @ONLY)
        list(APPEND files ${file})
      endif()
    endforeach()
  endforeach()
  set(${result} ${files} PARENT_SCOPE)
endfunction()
