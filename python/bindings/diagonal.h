#pragma once

#include <limits>

#include "ops/creation/creation.h"
#include "python/bindings/convert.h"

namespace lamella::python {

/// Reads the index of a diagonal: any integer.
template <>
struct ArgumentType<DiagonalNumber> {
  static constexpr const char* annotation = "SupportsIndex";
  static constexpr const char* expected = "an int";
  static DiagonalNumber read(PyObject* object, const Argument& argument) {
    if (PyLong_CheckExact(object)) {
      int overflow = 0;
      const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
      if (overflow > 0) return std::numeric_limits<std::int64_t>::max();
      if (overflow < 0) return std::numeric_limits<std::int64_t>::min();
      return value;
    }
    return read_int(object, argument);
  }
};

}  // namespace lamella::python
