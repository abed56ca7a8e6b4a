#pragma once

#include <array>
#include <optional>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

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

/// Vectors, maps and other ranges, except ranges of themselves (such as a path).
template <class T>
concept Range = std::ranges::input_range<T> && !std::is_same_v<std::ranges::range_value_t<T>, T>;

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

/// Converts to any type, to count the fields of a struct.
struct AnyField {
  template <class T>
  operator T() const;
};

template <class T>
consteval bool holds_tensors();

/// Converts to any type that holds no tensors.
struct TensorlessField {
  template <class T>
    requires(!holds_tensors<T>())
  operator T() const;
  template <class T>
    requires(holds_tensors<T>())
  operator T() const = delete;
};

/// Returns how many fields of T, from the first, can be initialized from a Field each; counts up to 64.
template <class T, class Field, class... Fields>
consteval std::size_t count_fields() {
  if constexpr (sizeof...(Fields) < 64 && requires { T{Fields{}..., Field{}}; }) {
    return count_fields<T, Field, Fields..., Field>();
  } else {
    return sizeof...(Fields);
  }
}

/// True for a plain struct of the user's, whose fields can be listed. Library types can be aggregates too, so those in
/// std are excluded.
template <class T>
inline constexpr bool kIsPlainStruct = std::is_class_v<T> && std::is_aggregate_v<T> && !std::is_empty_v<T> &&
                                       !std::is_polymorphic_v<T> && !IsTuple<T>::value && !std::is_same_v<T, Device>;

/// Returns the fields of a plain struct, at most 8, as a tuple of references.
template <class T>
auto fields_of(T& value) {
  constexpr std::size_t n = count_fields<std::remove_const_t<T>, AnyField>();
  static_assert(n > 0 && n <= 8,
                "a struct that holds tensors, in the arguments or results of a layer, has at most 8 fields");
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
  } else {
    auto& [a, b, c, d, e, f, g, h] = value;
    return std::tie(a, b, c, d, e, f, g, h);
  }
}

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
  } else if constexpr (Range<T>) {
    return holds_tensors<std::remove_const_t<std::ranges::range_value_t<T>>>();
  } else if constexpr (IsOptional<T>::value) {
    return holds_tensors<typename T::value_type>();
  } else if constexpr (kIsPlainStruct<T>) {
    return count_fields<T, AnyField>() != count_fields<T, TensorlessField>();
  } else {
    return false;
  }
}

}  // namespace detail

template <class T>
inline constexpr bool kIsTuple = detail::IsTuple<T>::value;
/// True for std::vector<Tensor>, TensorList and the like.
template <class T>
inline constexpr bool kIsTensorSequence = [] {
  if constexpr (std::ranges::random_access_range<T>) {
    return std::is_same_v<std::ranges::range_value_t<T>, Tensor>;
  } else {
    return false;
  }
}();
/// True for one tensor, or an optional one; not for a container.
template <class T>
inline constexpr bool kIsTensor = std::is_same_v<T, Tensor> || std::is_same_v<T, std::optional<Tensor>>;
/// True if a value of this type is, or can hold, tensors: in vectors, maps, arrays, tuples, pairs, optionals and plain
/// structs, nested.
template <class T>
inline constexpr bool kHoldsTensors = detail::holds_tensors<std::decay_t<T>>();

/// Calls f with each tensor in `value`, in order. Empty optionals are skipped, unless f takes std::nullopt.
template <class T, class F>
void for_each_tensor(T& value, F&& f) {
  using D = std::remove_const_t<T>;
  if constexpr (std::is_same_v<D, Tensor>) {
    f(value);
  } else if constexpr (!kHoldsTensors<D>) {
    return;
  } else if constexpr (kIsTuple<D>) {
    std::apply([&](auto&... parts) { (for_each_tensor(parts, f), ...); }, value);
  } else if constexpr (detail::Range<D>) {
    for (auto& part : value) for_each_tensor(part, f);
  } else if constexpr (detail::IsOptional<D>::value) {
    if (value) {
      for_each_tensor(*value, f);
    } else if constexpr (std::is_invocable_v<F&, std::nullopt_t>) {
      f(std::nullopt);
    }
  } else {
    std::apply([&](auto&... parts) { (for_each_tensor(parts, f), ...); }, detail::fields_of(value));
  }
}

}  // namespace lamella::autograd
