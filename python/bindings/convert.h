#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/autograd/graph/node.h"
#include "engine/core/device.h"
#include "engine/core/dtype.h"
#include "engine/core/shape.h"
#include "engine/core/tensor.h"
#include "ops/operand.h"
#include "python/bindings/generator_type.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_type.h"

namespace lamella::python {

// Python objects to the types that operators take. All raise TypeError or ValueError that names the argument.

const Tensor& read_tensor(PyObject* object, const Argument& argument);
std::int64_t read_int(PyObject* object, const Argument& argument);
double read_double(PyObject* object, const Argument& argument);
bool read_bool(PyObject* object, const Argument& argument);
Scalar read_scalar(PyObject* object, const Argument& argument);
Dims read_dims(PyObject* object, const Argument& argument);
DType read_dtype(PyObject* object, const Argument& argument);
Device read_device(PyObject* object, const Argument& argument);
std::string_view read_text(PyObject* object, const Argument& argument);
std::vector<Tensor> read_tensors(PyObject* object, const Argument& argument);

/// Whether the object is a number to operators: a Python or numpy scalar. Fills `value` where it is one.
/// ValueError for an integer that neither int64 nor uint64 holds.
bool as_scalar(PyObject* object, Scalar& value);

/// An int64 from an object with __index__ (bool excluded); nothing where the object has none. ValueError where it does
/// not fit.
std::optional<std::int64_t> as_index(PyObject* object, const Argument& argument);

/// Converts a Python object to a parameter of type T of an operator's `call`.
template <class T>
T read(PyObject* object, const Argument& argument);

template <>
inline const Tensor& read<const Tensor&>(PyObject* object, const Argument& argument) {
  if (is_tensor(object)) [[likely]]
    return tensor_of(object);
  return read_tensor(object, argument);
}

template <>
inline Operand read<Operand>(PyObject* object, const Argument& argument) {
  if (is_tensor(object)) [[likely]]
    return Operand(tensor_of(object));
  Scalar value = 0;
  if (!as_scalar(object, value)) argument.wrong_type("a Tensor or a number", object);
  return Operand(value);
}

template <>
inline std::int64_t read<std::int64_t>(PyObject* object, const Argument& argument) {
  return read_int(object, argument);
}
template <>
inline double read<double>(PyObject* object, const Argument& argument) {
  return read_double(object, argument);
}
template <>
inline bool read<bool>(PyObject* object, const Argument& argument) {
  if (object == Py_True) return true;
  if (object == Py_False) return false;
  return read_bool(object, argument);
}
template <>
inline Scalar read<Scalar>(PyObject* object, const Argument& argument) {
  return read_scalar(object, argument);
}
template <>
inline Dims read<Dims>(PyObject* object, const Argument& argument) {
  return read_dims(object, argument);
}
template <>
inline DType read<DType>(PyObject* object, const Argument& argument) {
  return read_dtype(object, argument);
}
template <>
inline Device read<Device>(PyObject* object, const Argument& argument) {
  return read_device(object, argument);
}
template <>
inline Generator* read<Generator*>(PyObject* object, const Argument& argument) {
  return read_generator(object, argument);
}
template <>
inline std::string_view read<std::string_view>(PyObject* object, const Argument& argument) {
  return read_text(object, argument);
}
template <>
inline std::vector<Tensor> read<std::vector<Tensor>>(PyObject* object, const Argument& argument) {
  return read_tensors(object, argument);
}
template <>
inline TensorList read<TensorList>(PyObject* object, const Argument& argument) {
  const std::vector<Tensor> tensors = read_tensors(object, argument);
  return TensorList(tensors.begin(), tensors.end());
}

template <class T>
std::optional<T> read_optional(PyObject* object, const Argument& argument) {
  if (object == Py_None) return std::nullopt;
  if constexpr (std::is_same_v<T, Tensor>) {
    return read<const Tensor&>(object, argument);
  } else {
    return read<T>(object, argument);
  }
}

}  // namespace lamella::python
