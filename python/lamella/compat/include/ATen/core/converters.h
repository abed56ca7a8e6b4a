#pragma once

// Converts PyTorch's types to parameters and results of registered kernels.

#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ATen/core/List.h"
#include "ATen/core/Tensor.h"
#include "engine/registry/convert.h"

namespace at::detail {

/// Holds a list during a call, which a kernel's view of T refers to.
template <class T>
struct Held {
  std::vector<T> elements;
  operator ArrayRef<T>() const { return elements; }
};
/// Holds a list or nothing.
template <class T>
struct HeldOptional {
  std::optional<std::vector<T>> elements;
  operator std::optional<ArrayRef<T>>() const {
    return elements ? std::optional<ArrayRef<T>>(*elements) : std::nullopt;
  }
  operator OptionalArrayRef<T>() const { return std::optional<ArrayRef<T>>(*this); }
};

inline std::vector<lamella::Tensor> native_tensors(TensorList tensors) {
  return std::vector<lamella::Tensor>(tensors.begin(), tensors.end());
}
/// An undefined tensor stands for None.
inline std::vector<lamella::Tensor> native_tensors(ArrayRef<std::optional<Tensor>> tensors) {
  std::vector<lamella::Tensor> made;
  made.reserve(tensors.size());
  for (const std::optional<Tensor>& x : tensors) made.push_back(x ? lamella::Tensor(*x) : lamella::Tensor());
  return made;
}

}  // namespace at::detail

namespace lamella::registry {

template <>
struct Converter<at::Tensor> {
  using Native = Converter<Tensor>;
  static constexpr Type type = Native::type;
  static at::Tensor from_arg(const Arg& arg) { return Native::from_arg(arg); }
  static Arg to_arg(const at::Tensor& x) { return static_cast<const Tensor&>(x); }
  /// An undefined tensor is None, which one of several results may be.
  static Value to_value(at::Tensor x) { return x.defined() ? Value(Tensor(std::move(x))) : Value(); }
  static at::Tensor from_value(Value& value) {
    return value.is_none() ? at::Tensor() : at::Tensor(value.take_tensor());
  }
};

/// Lists of tensors. A caller's list is copied into one of lamella::Tensor, which lasts during the call.
template <class T>
  requires(std::is_same_v<T, at::Tensor> || std::is_same_v<T, std::optional<at::Tensor>>)
struct Converter<std::vector<T>> {
  using Native = ListConverter<Tensor>;
  static constexpr Type type{
      .base = Type::Base::Tensor, .list = true, .optional_elements = !std::is_same_v<T, at::Tensor>};
  static std::vector<T> from_arg(const Arg& arg) { return made(Native::view(arg)); }
  static std::vector<Tensor> hold(const std::vector<T>& tensors) { return at::detail::native_tensors(tensors); }
  static Arg to_arg(const std::vector<Tensor>& tensors) { return std::span<const Tensor>(tensors); }
  static Value to_value(const std::vector<T>& tensors) { return at::detail::native_tensors(tensors); }
  static std::vector<T> from_value(Value& value) { return made(Native::view(value)); }

 private:
  static std::vector<T> made(std::span<const Tensor> tensors) {
    std::vector<T> values;
    values.reserve(tensors.size());
    for (const Tensor& x : tensors) {
      if constexpr (std::is_same_v<T, at::Tensor>) {
        values.emplace_back(x);
      } else {
        values.push_back(x.defined() ? T(x) : std::nullopt);
      }
    }
    return values;
  }
};

/// Sizes that may be left open.
template <>
struct Converter<c10::SymInt> {
  using Native = Converter<std::int64_t>;
  static constexpr Type type = Native::type;
  static c10::SymInt from_arg(const Arg& arg) { return Native::from_arg(arg); }
  static Arg to_arg(c10::SymInt value) { return value.expect_int(); }
  static Value to_value(c10::SymInt value) { return value.expect_int(); }
  static c10::SymInt from_value(Value& value) { return value.integer(); }
};
template <>
struct Converter<std::vector<c10::SymInt>> {
  using Native = Converter<std::vector<std::int64_t>>;
  static constexpr Type type = Native::type;
  static std::vector<c10::SymInt> from_arg(const Arg& arg) {
    const auto values = ListConverter<std::int64_t>::view(arg);
    return std::vector<c10::SymInt>(values.begin(), values.end());
  }
  static std::vector<std::int64_t> hold(const std::vector<c10::SymInt>& sizes) {
    return c10::asIntArrayRefUnchecked(sizes).vec();
  }
  static Arg to_arg(const std::vector<std::int64_t>& sizes) { return std::span<const std::int64_t>(sizes); }
  static Value to_value(const std::vector<c10::SymInt>& sizes) { return hold(sizes); }
  static std::vector<c10::SymInt> from_value(Value& value) {
    return std::vector<c10::SymInt>(value.integers().begin(), value.integers().end());
  }
};

/// Views of lists that are made for the call, and that the argument holds.
template <class T>
concept MadeForCall =
    std::is_same_v<T, at::Tensor> || std::is_same_v<T, std::optional<at::Tensor>> || std::is_same_v<T, c10::SymInt>;
template <MadeForCall T>
struct Converter<c10::ArrayRef<T>> {
  using Native = Converter<std::vector<T>>;
  static constexpr Type type = Native::type;
  static at::detail::Held<T> from_arg(const Arg& arg) { return {Native::from_arg(arg)}; }
  static auto hold(c10::ArrayRef<T> values) { return Native::hold(values.vec()); }
  static Arg to_arg(const auto& held) { return Native::to_arg(held); }
};
template <MadeForCall T>
struct Converter<std::optional<c10::ArrayRef<T>>> {
  using Native = Converter<std::vector<T>>;
  static constexpr Type type = optional_of(Native::type);
  static at::detail::HeldOptional<T> from_arg(const Arg& arg) {
    if (arg.is_none()) return {};
    return {Native::from_arg(arg)};
  }
  static auto hold(const std::optional<c10::ArrayRef<T>>& values) {
    return values ? std::optional(Native::hold(values->vec())) : std::nullopt;
  }
  static Arg to_arg(const auto& held) { return held ? Native::to_arg(*held) : Arg(); }
};
template <MadeForCall T>
struct Converter<c10::OptionalArrayRef<T>> : Converter<std::optional<c10::ArrayRef<T>>> {};

/// Lists that copies share: a kernel gets one of its own.
template <class T>
  requires(Convertible<std::vector<T>>)
struct Converter<c10::List<T>> {
  using Native = Converter<std::vector<T>>;
  static constexpr Type type = Native::type;
  static c10::List<T> from_arg(const Arg& arg) { return c10::List<T>(Native::from_arg(arg)); }
  static decltype(auto) hold(const c10::List<T>& list) { return held_argument(list.vec()); }
  static Arg to_arg(const auto& held) { return Native::to_arg(held); }
  static Value to_value(const c10::List<T>& list) { return Native::to_value(list.vec()); }
  static c10::List<T> from_value(Value& value) { return c10::List<T>(Native::from_value(value)); }
};

template <class T>
  requires requires { ListConverter<T>::base; }
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

/// Layouts and formats of memory are numbers to operators.
template <class T>
  requires(std::is_same_v<T, c10::Layout> || std::is_same_v<T, c10::MemoryFormat>)
struct Converter<T> {
  using Native = Converter<std::int64_t>;
  static constexpr Type type = Native::type;
  static T from_arg(const Arg& arg) { return static_cast<T>(Native::from_arg(arg)); }
  static Arg to_arg(T value) { return static_cast<std::int64_t>(value); }
  static Value to_value(T value) { return static_cast<std::int64_t>(value); }
  static T from_value(Value& value) { return static_cast<T>(value.integer()); }
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
