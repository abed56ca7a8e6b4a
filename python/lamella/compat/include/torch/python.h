#pragma once

// PyTorch's types as arguments and results of functions bound with pybind11.

#include <lamella/python.h>

#include <string>
#include <utility>

#include "ATen/Functions.h"
#include "torch/types.h"

namespace py = pybind11;

namespace pybind11::detail {

/// None stands for an undefined tensor in results only.
template <>
class type_caster<at::Tensor> {
 public:
  PYBIND11_TYPE_CASTER(at::Tensor, const_name("torch.Tensor"));

  bool load(handle source, bool) { return source && lamella::python::extension_api().unwrap(source.ptr(), value); }
  static handle cast(const at::Tensor& x, return_value_policy policy, handle parent) {
    return type_caster<lamella::Tensor>::cast(x, policy, parent);
  }
};

/// Lists and tuples.
template <class T>
class type_caster<c10::ArrayRef<T>> {
  using Elements = make_caster<std::vector<T>>;

 public:
  static constexpr auto name = Elements::name;

  bool load(handle source, bool convert) {
    if (!elements_.load(source, convert)) return false;
    values_ = cast_op<std::vector<T>&&>(std::move(elements_));
    view_ = values_;
    return true;
  }
  static handle cast(c10::ArrayRef<T> values, return_value_policy policy, handle parent) {
    return Elements::cast(values.vec(), policy, parent);
  }
  operator c10::ArrayRef<T>*() { return &view_; }
  operator c10::ArrayRef<T>&() { return view_; }
  template <class U>
  using cast_op_type = pybind11::detail::cast_op_type<U>;

 private:
  Elements elements_;
  std::vector<T> values_;
  c10::ArrayRef<T> view_;
};

template <>
class type_caster<c10::SymInt> {
 public:
  PYBIND11_TYPE_CASTER(c10::SymInt, const_name("int"));

  bool load(handle source, bool convert) {
    make_caster<std::int64_t> number;
    if (!number.load(source, convert)) return false;
    value = cast_op<std::int64_t>(number);
    return true;
  }
  static handle cast(c10::SymInt x, return_value_policy, handle) { return PyLong_FromLongLong(x.expect_int()); }
};

template <>
class type_caster<c10::Scalar> {
 public:
  PYBIND11_TYPE_CASTER(c10::Scalar, const_name("float"));

  bool load(handle source, bool) {
    if (PyBool_Check(source.ptr())) {
      value = source.ptr() == Py_True;
    } else if (PyLong_Check(source.ptr())) {
      const long long number = PyLong_AsLongLong(source.ptr());
      if (number == -1 && PyErr_Occurred()) throw error_already_set();
      value = std::int64_t{number};
    } else if (PyFloat_Check(source.ptr())) {
      value = PyFloat_AS_DOUBLE(source.ptr());
    } else if (PyComplex_Check(source.ptr())) {
      value = std::complex<double>(PyComplex_RealAsDouble(source.ptr()), PyComplex_ImagAsDouble(source.ptr()));
    } else {
      return false;
    }
    return true;
  }
  static handle cast(const c10::Scalar& x, return_value_policy, handle) {
    if (x.isBoolean()) return PyBool_FromLong(x.toBool());
    if (x.isIntegral(false)) return PyLong_FromLongLong(x.toLong());
    if (x.isComplex()) return PyComplex_FromDoubles(x.toDouble(), x.imaginary());
    return PyFloat_FromDouble(x.toDouble());
  }
};

}  // namespace pybind11::detail
