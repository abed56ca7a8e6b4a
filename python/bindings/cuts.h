#pragma once

#include "ops/shape/cuts.h"
#include "python/bindings/convert.h"

namespace lamella::python {

/// Reads a number of parts, or a sequence of positions to cut at.
template <>
struct ArgumentType<Cuts> {
  static constexpr const char* annotation = "SupportsIndex | Sequence[SupportsIndex]";
  static constexpr const char* expected = "an int or a sequence of ints";
  static Cuts read(PyObject* object, const Argument& argument) {
    // An array of integers, a 0-d one included, is a sequence that has __index__.
    const auto has_no_length = [&] {
      if (!PySequence_Check(object)) return true;
      if (PySequence_Size(object) >= 0) return false;
      PyErr_Clear();
      return true;
    };
    if (!PyBool_Check(object) && PyIndex_Check(object) && has_no_length()) return read_int(object, argument);
    return read_dims(object, argument);
  }
};

}  // namespace lamella::python
