#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/core/tensor.h"
#include "python/bindings/containers.h"
#include "python/bindings/errors.h"
#include "python/bindings/py_ref.h"
#include "python/bindings/tensor_object.h"

// Turns C++ functions into functions for Python, for the library's own use: arguments come by position, and the errors
// name no parameter.

namespace lamella::python {

/// Converts between a C++ type and Python.
///     from    converts an object; throws TypeError for another kind
///     to      returns a new object
template <class T>
struct Adapted;

template <>
struct Adapted<PyObject*> {
  static PyObject* from(PyObject* object) { return object; }
};

template <>
struct Adapted<PyRef> {
  static PyRef to(PyRef object) { return object; }
};

template <>
struct Adapted<bool> {
  static bool from(PyObject* object) { return checked(PyObject_IsTrue(object)) != 0; }
  static PyRef to(bool value) { return PyRef::share(value ? Py_True : Py_False); }
};

template <>
struct Adapted<std::int64_t> {
  static std::int64_t from(PyObject* object) {
    const PyRef number = PyRef::adopt(checked(PyNumber_Index(object)));
    const std::int64_t value = PyLong_AsLongLong(number.get());
    if (value == -1 && PyErr_Occurred()) throw_python_error();
    return value;
  }
  static PyRef to(std::int64_t value) { return PyRef::adopt(checked(PyLong_FromLongLong(value))); }
};

template <>
struct Adapted<std::string> {
  static std::string from(PyObject* object) {
    Py_ssize_t size = 0;
    const char* const text = checked(PyUnicode_AsUTF8AndSize(object, &size));
    return {text, static_cast<std::size_t>(size)};
  }
  static PyRef to(std::string_view text) {
    return PyRef::adopt(checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace")));
  }
};

template <>
struct Adapted<Tensor> {
  static const Tensor& from(PyObject* object) {
    if (!is_tensor(object)) fail<TypeError>("expected a Tensor, got ", type_name(object));
    return tensor_of(object);
  }
  static PyRef to(Tensor x) { return wrap_ref(std::move(x)); }
};

template <class T>
struct Adapted<std::vector<T>> {
  static std::vector<T> from(PyObject* object) {
    const PyRef items = PyRef::adopt(checked(PySequence_Fast(object, "expected a list or tuple")));
    std::vector<T> values;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
      values.push_back(Adapted<T>::from(PySequence_Fast_GET_ITEM(items.get(), i)));
    return values;
  }
  static PyRef to(const std::vector<T>& values) {
    return list_from(values, [](const T& value) { return Adapted<T>::to(value); });
  }
};

/// Returns a tuple of values.
template <class... T>
PyRef adapted_tuple(const T&... values) {
  PyRef tuple = PyRef::adopt(checked(PyTuple_New(sizeof...(T))));
  Py_ssize_t next = 0;
  (PyTuple_SET_ITEM(tuple.get(), next++, Adapted<std::decay_t<T>>::to(values).release()), ...);
  return tuple;
}

namespace detail {

template <class F>
struct AdaptedCall;
template <class R, class Self, class... A>
struct AdaptedCall<R (*)(Self, A...)> {
  template <auto F, class Receiver>
  static PyObject* call(Receiver&& self, PyObject* const* args, Py_ssize_t count) {
    if (count != sizeof...(A)) fail<TypeError>("expected ", sizeof...(A), " arguments, got ", count);
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> PyObject* {
      if constexpr (std::is_void_v<R>) {
        F(self, Adapted<std::remove_cvref_t<A>>::from(args[I])...);
        return Py_NewRef(Py_None);
      } else {
        return Adapted<R>::to(F(self, Adapted<std::remove_cvref_t<A>>::from(args[I])...)).release();
      }
    }(std::index_sequence_for<A...>{});
  }
};

}  // namespace detail

/// A METH_FASTCALL method that calls F(receiver, arguments...), where `Receiver` finds the C++ object of self.
template <auto F, auto Receiver>
PyObject* adapted_method(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] { return detail::AdaptedCall<decltype(F)>::template call<F>(Receiver(self), args, count); });
}

}  // namespace lamella::python
