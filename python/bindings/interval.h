#pragma once

#include <utility>

#include "python/bindings/convert.h"

namespace lamella::python {

/// Two numbers, from a tuple or a list.
std::pair<double, double> read_interval(PyObject* object, const Argument& argument);

template <>
inline std::pair<double, double> read<std::pair<double, double>>(PyObject* object, const Argument& argument) {
  return read_interval(object, argument);
}

}  // namespace lamella::python
