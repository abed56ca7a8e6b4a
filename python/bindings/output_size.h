#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ops/nn/spatial.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

/// Reads the output size of an adaptive pool: a number, or a sequence of numbers and None.
template <>
struct ArgumentType<OutputSize> {
  static constexpr const char* annotation = "SupportsIndex | Sequence[SupportsIndex | None]";
  static constexpr const char* expected = "an int, or a sequence of ints and None";
  static OutputSize read(PyObject* object, const Argument& argument) {
    if (!PyBool_Check(object) && PyIndex_Check(object) && !PySequence_Check(object)) return read_int(object, argument);
    if (PyUnicode_Check(object) || PyBytes_Check(object) || !PySequence_Check(object)) {
      argument.wrong_type(expected, object);
    }
    const PyRef items = PyRef::adopt(checked(PySequence_Tuple(object)));
    std::vector<std::optional<std::int64_t>> numbers;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
      PyObject* const item = PyTuple_GET_ITEM(items.get(), i);
      numbers.push_back(item == Py_None ? std::nullopt : std::optional(read_int(item, argument)));
    }
    return numbers;
  }
};

}  // namespace lamella::python
