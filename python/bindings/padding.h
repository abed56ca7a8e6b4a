#pragma once

#include "ops/nn/spatial.h"
#include "python/bindings/convert.h"

namespace lamella::python {

/// Reads the padding of a convolution: 'same', 'valid', a number or one for each axis.
template <>
struct ArgumentType<Padding> {
  static constexpr const char* annotation = "str | SupportsIndex | Sequence[SupportsIndex]";
  static constexpr const char* expected = "'same', 'valid', a number or one for each spatial axis";
  static Padding read(PyObject* object, const Argument& argument) {
    if (!PyUnicode_Check(object)) return Padding(read_dims(object, argument));
    const std::string_view name = read_text(object, argument);
    if (name != "same" && name != "valid") {
      argument.wrong_value(str("expected ", expected, ", got '", name, "'"));
    }
    Padding padding;
    padding.same = name == "same";
    return padding;
  }
};

}  // namespace lamella::python
