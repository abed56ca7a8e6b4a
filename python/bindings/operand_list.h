#pragma once

#include <vector>

#include "python/bindings/convert.h"

namespace lamella::python {

/// From a tensor or a number, or a sequence of these.
std::vector<HeldOperand> read_operands(PyObject* object, const Argument& argument);

template <>
inline std::vector<HeldOperand> read<std::vector<HeldOperand>>(PyObject* object, const Argument& argument) {
  return read_operands(object, argument);
}

}  // namespace lamella::python
