#pragma once

#include <cstddef>
#include <string>

namespace lamella::linalg {

/// The address of a function of OpenBLAS, which is loaded with the first one asked for: from beside this library, where
/// the loader looks, or from the Python package scipy-openblas32 beside Lamella's own, whose names have a prefix.
/// NotImplementedError where there is none, and OutOfMemoryError where it did not fit into the memory that is left.
void* openblas_function(const char* name);
/// The same, or null.
void* find_openblas_function(const char* name);

/// How OpenBLAS describes itself, or why there is none.
std::string describe_openblas();

/// The name of a function as a template's argument.
template <std::size_t N>
struct FunctionName {
  char text[N]{};
  consteval FunctionName(const char (&name)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = name[i];
  }
};

/// A function of OpenBLAS, found when it is first used as one.
template <FunctionName name, class F>
struct Routine {
  operator F*() const {
    static F* const found = reinterpret_cast<F*>(openblas_function(name.text));
    return found;
  }
};

}  // namespace lamella::linalg
