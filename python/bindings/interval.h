#pragma once

#include <utility>

#include "python/bindings/convert.h"

namespace lamella::python {

/// Reads two numbers from a tuple or a list.
std::pair<double, double> read_interval(PyObject* object, const Argument& argument);

template <>
struct ArgumentType<std::pair<double, double>> {
  static constexpr const char* annotation = "tuple[float, float]";
  static constexpr const char* expected = "two numbers";
  static std::pair<double, double> read(PyObject* object, const Argument& argument) {
    return read_interval(object, argument);
  }
};

}  // namespace lamella::python
