#pragma once

#include <array>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/autograd/node.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

namespace detail {

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct IsTuple<std::pair<A, B>> : std::true_type {};
template <class T, std::size_t N>
struct IsTuple<std::array<T, N>> : std::true_type {};

template <class T>
struct IsSequence : std::false_type {};
template <class T, class A>
struct IsSequence<std::vector<T, A>> : std::true_type {
  using element = T;
};
template <class T, std::size_t N>
struct IsSequence<SmallVector<T, N>> : std::true_type {
  using element = T;
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

/// Converts to anything: counts the fields of a struct.
struct AnyField {
  template <class T>
  operator T() const;
};

template <class T, class... Fields>
consteval std::size_t count_fields() {
  if constexpr (sizeof...(Fields) > 8) {
    return 0;
  } else if constexpr (requires { T{Fields{}..., AnyField{}}; }) {
    return count_fields<T, Fields..., AnyField>();
  } else {
    return sizeof...(Fields);
  }
}

/// A plain struct of the user's, whose fields can be listed. Library types are aggregates too, so those in std are not meant.
template <class T>
inline constexpr bool kIsPlainStruct = std::is_class_v<T> && std::is_aggregate_v<T> && !std::is_empty_v<T> && !std::is_polymorphic_v<T> &&
                                       !IsTuple<T>::value && !std::is_same_v<T, Device>;

/// The fields of a plain struct with at most 8 of them, as a tuple of references.
template <class T>
auto fields_of(T& value) {
  constexpr std::size_t n = count_fields<std::remove_const_t<T>>();
  if constexpr (n == 1) {
    auto& [a] = value;
    return std::tie(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = value;
    return std::tie(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = value;
    return std::tie(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = value;
    return std::tie(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = value;
    return std::tie(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = value;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, f, g] = value;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, f, g, h] = value;
    return std::tie(a, b, c, d, e, f, g, h);
  } else {
    return std::tuple<>();
  }
}

template <class T>
consteval bool holds_tensors();

template <class Tuple>
struct AnyHolds;
template <template <class...> class Tuple, class... T>
struct AnyHolds<Tuple<T...>> : std::bool_constant<(holds_tensors<std::decay_t<T>>() || ...)> {};
template <class T, std::size_t N>
struct AnyHolds<std::array<T, N>> : std::bool_constant<holds_tensors<T>()> {};

template <class T>
consteval bool holds_tensors() {
  if constexpr (std::is_same_v<T, Tensor>) {
    return true;
  } else if constexpr (IsTuple<T>::value) {
    return AnyHolds<T>::value;
  } else if constexpr (IsSequence<T>::value) {
    return holds_tensors<typename IsSequence<T>::element>();
  } else if constexpr (IsOptional<T>::value) {
    return holds_tensors<typename T::value_type>();
  } else if constexpr (kIsPlainStruct<T>) {
    return AnyHolds<decltype(fields_of(std::declval<T&>()))>::value;
  } else {
    return false;
  }
}

}  // namespace detail

template <class T>
inline constexpr bool kIsTuple = detail::IsTuple<T>::value;
/// std::vector<Tensor>, TensorList.
template <class T>
inline constexpr bool kIsTensorSequence = [] {
  if constexpr (detail::IsSequence<T>::value) {
    return std::is_same_v<typename detail::IsSequence<T>::element, Tensor>;
  } else {
    return false;
  }
}();
/// Whether a value of this type is, or can hold, tensors: in vectors, arrays, tuples, pairs, optionals and plain structs, nested.
template <class T>
inline constexpr bool kHoldsTensors = detail::holds_tensors<std::decay_t<T>>();

/// Calls f with each tensor in `value`, in order, empty optionals skipped.
template <class T, class F>
void for_each_tensor(T& value, F&& f) {
  using D = std::remove_const_t<T>;
  if constexpr (std::is_same_v<D, Tensor>) {
    f(value);
  } else if constexpr (!kHoldsTensors<D>) {
    return;
  } else if constexpr (kIsTuple<D>) {
    std::apply([&](auto&... parts) { (for_each_tensor(parts, f), ...); }, value);
  } else if constexpr (detail::IsSequence<D>::value) {
    for (auto& part : value) for_each_tensor(part, f);
  } else if constexpr (detail::IsOptional<D>::value) {
    if (value) for_each_tensor(*value, f);
  } else {
    std::apply([&](auto&... parts) { (for_each_tensor(parts, f), ...); }, detail::fields_of(value));
  }
}

}  // namespace lamella::autograd
