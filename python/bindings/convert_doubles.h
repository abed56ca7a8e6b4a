#pragma once

#include <vector>

#include "python/bindings/convert.h"

namespace lamella::python {

/// From a number or a sequence of numbers. TypeError for anything else.
std::vector<double> read_doubles(PyObject* object, const Argument& argument);

template <>
inline std::vector<double> read<std::vector<double>>(PyObject* object, const Argument& argument) {
  return read_doubles(object, argument);
}

}  // namespace lamella::python
