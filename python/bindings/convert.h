#pragma once

#include <Python.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/autograd/graph/node.h"
#include "engine/core/device.h"
#include "engine/core/dtype.h"
#include "engine/core/shape.h"
#include "engine/core/tensor.h"
#include "ops/operand.h"
#include "python/bindings/generator_object.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {

// Converts Python objects to the types that operators take. All raise TypeError or ValueError that names the argument.

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

/// Reads a Python or numpy scalar into `value`; false for any other object. ValueError for an integer that neither
/// int64 nor uint64 holds.
bool as_scalar(PyObject* object, Scalar& value);

/// Returns the int64 of an object with __index__ (bool excluded), nothing for an object without it. ValueError if it
/// does not fit.
std::optional<std::int64_t> as_index(PyObject* object, const Argument& argument);

/// Converts a Python argument to a parameter of type T of an operator's `call`:
///     annotation   type as a stub file spells it
///     expected     name of the accepted objects in an error's text
///     read         converts an object to T; TypeError or ValueError names the argument
template <class T>
struct ArgumentType;

template <>
struct ArgumentType<Tensor> {
  static constexpr const char* annotation = "Tensor";
  static constexpr const char* expected = "a Tensor";
  static const Tensor& read(PyObject* object, const Argument& argument) {
    if (is_tensor(object)) [[likely]]
      return tensor_of(object);
    return read_tensor(object, argument);
  }
};

template <>
struct ArgumentType<Operand> {
  static constexpr const char* annotation = "Tensor | _complex";
  static constexpr const char* expected = "a Tensor or a number";
  static Operand read(PyObject* object, const Argument& argument) {
    if (is_tensor(object)) [[likely]]
      return Operand(tensor_of(object));
    Scalar value = 0;
    if (!as_scalar(object, value)) argument.wrong_type(expected, object);
    return Operand(value);
  }
};

template <>
struct ArgumentType<std::int64_t> {
  static constexpr const char* annotation = "SupportsIndex";
  static constexpr const char* expected = "an int";
  static std::int64_t read(PyObject* object, const Argument& argument) { return read_int(object, argument); }
};

template <>
struct ArgumentType<double> {
  static constexpr const char* annotation = "float";
  static constexpr const char* expected = "a number";
  static double read(PyObject* object, const Argument& argument) { return read_double(object, argument); }
};

template <>
struct ArgumentType<bool> {
  static constexpr const char* annotation = "_bool";  // `bool` is a dtype of the module
  static constexpr const char* expected = "a bool";
  static bool read(PyObject* object, const Argument& argument) {
    if (object == Py_True) return true;
    if (object == Py_False) return false;
    return read_bool(object, argument);
  }
};

template <>
struct ArgumentType<Scalar> {
  static constexpr const char* annotation = "_complex";
  static constexpr const char* expected = "a number";
  static Scalar read(PyObject* object, const Argument& argument) { return read_scalar(object, argument); }
};

template <>
struct ArgumentType<Dims> {
  static constexpr const char* annotation = "SupportsIndex | Sequence[SupportsIndex]";
  static constexpr const char* expected = "an int or a sequence of ints";
  static Dims read(PyObject* object, const Argument& argument) { return read_dims(object, argument); }
};

template <>
struct ArgumentType<DType> {
  static constexpr const char* annotation = "_DTypeLike";
  static constexpr const char* expected = "a dtype";
  static DType read(PyObject* object, const Argument& argument) { return read_dtype(object, argument); }
};

template <>
struct ArgumentType<std::string_view> {
  static constexpr const char* annotation = "str";
  static constexpr const char* expected = "a str";
  static std::string_view read(PyObject* object, const Argument& argument) { return read_text(object, argument); }
};

template <>
struct ArgumentType<Device> : ArgumentType<std::string_view> {
  static Device read(PyObject* object, const Argument& argument) { return read_device(object, argument); }
};

template <>
struct ArgumentType<Generator*> {
  static constexpr const char* annotation = "Generator | None";
  static constexpr const char* expected = "a Generator or None";
  static Generator* read(PyObject* object, const Argument& argument) { return read_generator(object, argument); }
};

template <>
struct ArgumentType<std::vector<Tensor>> {
  static constexpr const char* annotation = "Sequence[Tensor]";
  static constexpr const char* expected = "a list or tuple of tensors";
  static std::vector<Tensor> read(PyObject* object, const Argument& argument) { return read_tensors(object, argument); }
};

template <>
struct ArgumentType<TensorList> : ArgumentType<std::vector<Tensor>> {
  static TensorList read(PyObject* object, const Argument& argument) {
    const std::vector<Tensor> tensors = read_tensors(object, argument);
    return TensorList(tensors.begin(), tensors.end());
  }
};

template <class T>
struct ArgumentType<std::optional<T>> {
  static constexpr auto kText = [] {
    constexpr std::string_view type = ArgumentType<T>::annotation;
    constexpr std::string_view or_none = " | None";
    std::array<char, type.size() + or_none.size() + 1> text{};
    std::ranges::copy(or_none, std::ranges::copy(type, text.begin()).out);
    return text;
  }();
  static constexpr const char* annotation = kText.data();
  static std::optional<T> read(PyObject* object, const Argument& argument) {
    if (object == Py_None) return std::nullopt;
    return ArgumentType<T>::read(object, argument);
  }
};

/// Converts a Python object to a parameter of type T.
template <class T>
decltype(auto) read(PyObject* object, const Argument& argument) {
  return ArgumentType<std::remove_cvref_t<T>>::read(object, argument);
}
template <class T>
std::optional<T> read_optional(PyObject* object, const Argument& argument) {
  return ArgumentType<std::optional<T>>::read(object, argument);
}

}  // namespace lamella::python
