#pragma once

#include <vector>

#include "python/bindings/convert.h"

namespace lamella::python {

/// Reads a number or a sequence of numbers; TypeError for anything else.
std::vector<double> read_doubles(PyObject* object, const Argument& argument);

template <>
struct ArgumentType<std::vector<double>> {
  static constexpr const char* annotation = "float | Sequence[float]";
  static constexpr const char* expected = "a number or a sequence of numbers";
  static std::vector<double> read(PyObject* object, const Argument& argument) { return read_doubles(object, argument); }
};

}  // namespace lamella::python
