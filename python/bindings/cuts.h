#pragma once

#include "ops/shape/cuts.h"
#include "python/bindings/convert.h"

namespace lamella::python {

/// A number of parts, or a sequence of numbers.
template <>
inline Cuts read<Cuts>(PyObject* object, const Argument& argument) {
  if (!PyBool_Check(object) && PyIndex_Check(object) && !PySequence_Check(object)) return read_int(object, argument);
  return read_dims(object, argument);
}

}  // namespace lamella::python
