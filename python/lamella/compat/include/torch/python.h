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
    if (x.isComplex()) {
      const std::complex<double> value = x.toComplexDouble();
      return PyComplex_FromDoubles(value.real(), value.imag());
    }
    return PyFloat_FromDouble(x.toDouble());
  }
};

/// torch.float32 and its like, by the names that they print as.
template <>
class type_caster<c10::ScalarType> {
 public:
  PYBIND11_TYPE_CASTER(c10::ScalarType, const_name("torch.dtype"));

  bool load(handle source, bool) {
    if (!source || PyUnicode_Check(source.ptr()) || !hasattr(source, "itemsize")) return false;
    const std::string text = str(source);
    const std::string name = text.substr(text.rfind('.') + 1);
    for (std::size_t i = 0; i < lamella::kDTypeCount; ++i) {
      if (lamella::kDTypeNames[i] == name) {
        value = c10::to_scalar_type(static_cast<lamella::DType>(i));
        return true;
      }
    }
    return false;
  }
  static handle cast(c10::ScalarType x, return_value_policy, handle) {
    const std::string name(lamella::name(c10::to_dtype(x)));
    return object(module_::import("torch").attr(name.c_str())).release();
  }
};

/// torch.device, and its texts.
template <>
class type_caster<c10::Device> {
 public:
  static constexpr auto name = const_name("torch.device");
  template <class T>
  using cast_op_type = pybind11::detail::movable_cast_op_type<T>;
  operator c10::Device*() { return &value_; }
  operator c10::Device&() { return value_; }
  operator c10::Device&&() && { return std::move(value_); }

  bool load(handle source, bool) {
    if (!source || !(PyUnicode_Check(source.ptr()) || (hasattr(source, "type") && hasattr(source, "index")))) {
      return false;
    }
    value_ = c10::Device(std::string(str(source)));
    return true;
  }
  static handle cast(const c10::Device& x, return_value_policy, handle) {
    return module_::import("torch").attr("device")(x.str()).release();
  }

 private:
  c10::Device value_ = c10::DeviceType::CPU;  // a device has no value of its own to begin with
};

}  // namespace pybind11::detail
