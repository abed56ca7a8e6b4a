#pragma once

#include <cstddef>
#include <string>

namespace lamella::linalg {

/// Returns the address of a function of OpenBLAS, loading the library with the first call: from beside this library,
/// from the loader's path, or from the Python package scipy-openblas32 beside Lamella's own, whose names have a prefix.
/// Throws NotImplementedError if there is none, OutOfMemoryError if it does not fit into the remaining memory.
void* openblas_function(const char* name);
/// Returns the address of a function of OpenBLAS, or null.
void* find_openblas_function(const char* name);

/// Returns OpenBLAS's description of itself, or the reason why it is not loaded.
std::string describe_openblas();

/// The name of a function as a template argument.
template <std::size_t N>
struct FunctionName {
  char text[N]{};
  consteval FunctionName(const char (&name)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = name[i];
  }
};

/// A function of OpenBLAS, looked up with its first use.
template <FunctionName name, class F>
struct Routine {
  operator F*() const {
    static F* const found = reinterpret_cast<F*>(openblas_function(name.text));
    return found;
  }
};

}  // namespace lamella::linalg
