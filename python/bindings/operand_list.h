#pragma once

#include <vector>

#include "python/bindings/convert.h"

namespace lamella::python {

/// Reads a tensor or a number, or a sequence of these.
std::vector<HeldOperand> read_operands(PyObject* object, const Argument& argument);

template <>
struct ArgumentType<std::vector<HeldOperand>> {
  static constexpr const char* annotation = "Tensor | _complex | Sequence[Tensor | _complex]";
  static constexpr const char* expected = "a Tensor, a number, or a sequence of these";
  static std::vector<HeldOperand> read(PyObject* object, const Argument& argument) {
    return read_operands(object, argument);
  }
};

}  // namespace lamella::python
