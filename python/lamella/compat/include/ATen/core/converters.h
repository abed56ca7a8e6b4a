#pragma once

// Converts PyTorch's types to parameters and results of registered kernels.

#include <string_view>
#include <vector>

#include "ATen/core/Tensor.h"
#include "engine/registry/convert.h"

namespace at::detail {

/// Holds a list of tensors during a call, which a kernel's TensorList refers to.
struct HeldTensors {
  std::vector<Tensor> tensors;
  operator TensorList() const { return tensors; }
};

}  // namespace at::detail

namespace lamella::registry {

template <>
struct Converter<at::Tensor> {
  using Native = Converter<Tensor>;
  static constexpr Type type = Native::type;
  static at::Tensor from_arg(const Arg& arg) { return Native::from_arg(arg); }
  static Arg to_arg(const at::Tensor& x) { return static_cast<const Tensor&>(x); }
  static Value to_value(at::Tensor x) { return Tensor(std::move(x)); }
  static at::Tensor from_value(Value& value) { return value.take_tensor(); }
};

template <>
struct Converter<std::vector<at::Tensor>> {
  using Native = ListConverter<Tensor>;
  static constexpr Type type = list_of(Native::base);
  static std::vector<at::Tensor> from_arg(const Arg& arg) {
    const auto tensors = Native::view(arg);
    return std::vector<at::Tensor>(tensors.begin(), tensors.end());
  }
  static Value to_value(const std::vector<at::Tensor>& tensors) {
    return std::vector<Tensor>(tensors.begin(), tensors.end());
  }
  static std::vector<at::Tensor> from_value(Value& value) {
    const auto tensors = Native::view(value);
    return std::vector<at::Tensor>(tensors.begin(), tensors.end());
  }
};

template <>
struct Converter<at::TensorList> {
  static constexpr Type type = list_of(Type::Base::Tensor);
  static at::detail::HeldTensors from_arg(const Arg& arg) {
    return {Converter<std::vector<at::Tensor>>::from_arg(arg)};
  }
};

template <class T>
  requires(!std::is_same_v<T, at::Tensor> && requires { ListConverter<T>::base; })
struct Converter<c10::ArrayRef<T>> {
  using Native = Converter<std::span<const T>>;
  static constexpr Type type = Native::type;
  static c10::ArrayRef<T> from_arg(const Arg& arg) { return Native::from_arg(arg); }
  static Arg to_arg(c10::ArrayRef<T> values) { return std::span<const T>(values); }
};

template <class T>
struct Converter<c10::OptionalArrayRef<T>> {
  using Native = Converter<c10::ArrayRef<T>>;
  static constexpr Type type = optional_of(Native::type);
  static c10::OptionalArrayRef<T> from_arg(const Arg& arg) {
    if (arg.is_none()) return std::nullopt;
    return Native::from_arg(arg);
  }
  static Arg to_arg(const c10::OptionalArrayRef<T>& values) { return values ? Native::to_arg(*values) : Arg(); }
};

template <>
struct Converter<c10::Scalar> {
  using Native = Converter<Scalar>;
  static constexpr Type type = Native::type;
  static c10::Scalar from_arg(const Arg& arg) { return Native::from_arg(arg); }
  static Arg to_arg(const c10::Scalar& value) { return static_cast<const Scalar&>(value); }
  static Value to_value(const c10::Scalar& value) { return static_cast<const Scalar&>(value); }
  static c10::Scalar from_value(Value& value) { return value.scalar(); }
};

template <>
struct Converter<c10::ScalarType> {
  using Native = Converter<DType>;
  static constexpr Type type = Native::type;
  static c10::ScalarType from_arg(const Arg& arg) { return c10::to_scalar_type(Native::from_arg(arg)); }
  static Arg to_arg(c10::ScalarType value) { return c10::to_dtype(value); }
  static Value to_value(c10::ScalarType value) { return c10::to_dtype(value); }
  static c10::ScalarType from_value(Value& value) { return c10::to_scalar_type(value.dtype()); }
};

template <>
struct Converter<c10::Device> {
  using Native = Converter<Device>;
  static constexpr Type type = Native::type;
  static c10::Device from_arg(const Arg& arg) { return Native::from_arg(arg); }
  static Arg to_arg(const c10::Device& value) { return value.native(); }
  static Value to_value(const c10::Device& value) { return value.native(); }
  static c10::Device from_value(Value& value) { return value.device(); }
};

}  // namespace lamella::registry
