#pragma once

#include <optional>

#include "ops/movement/cast.h"
#include "ops/support/dtypes.h"

namespace lamella {

namespace detail {

constexpr bool is_half_argument(const auto&) { return false; }
inline bool is_half_argument(const Tensor& x) { return x.defined() && is_half(x.dtype()); }
inline bool is_half_argument(const std::optional<Tensor>& x) { return x && is_half_argument(*x); }

template <class T>
T widened(const T& value) {
  return value;
}
inline Tensor widened(const Tensor& x) { return is_half_argument(x) ? cast(x, DType::Float32) : x; }
inline std::optional<Tensor> widened(const std::optional<Tensor>& x) {
  if (!x) return x;
  return widened(*x);
}

inline void promote_to(std::optional<DType>&, const auto&) {}
inline void promote_to(std::optional<DType>& dtype, const Tensor& x) {
  if (!x.defined() || !Floating.contains(x.dtype())) return;
  dtype = dtype ? promote_types(*dtype, x.dtype()) : x.dtype();
}
inline void promote_to(std::optional<DType>& dtype, const std::optional<Tensor>& x) {
  if (x) promote_to(dtype, *x);
}

}  // namespace detail

/// True if one of the arguments is a tensor of 16-bit floats.
bool any_half(const auto&... args) { return (detail::is_half_argument(args) || ...); }

/// Calls Op::call with float32 in place of 16-bit floats, and rounds the result once to `dtype`.
template <class Op, class... Args>
Tensor call_in_float32_for(DType dtype, const Args&... args) {
  return cast(Op::call(detail::widened(args)...), dtype);
}

/// Calls Op::call with float32 in place of 16-bit floats, and rounds the result once to the dtype that the operands
/// have together. An operator that is composed of others, whose results are beyond the range or precision of 16 bits
/// where its own is not, begins with
///
///     if (any_half(input, target)) [[unlikely]] return call_in_float32<MseLoss>(input, target, reduction);
template <class Op, class... Args>
Tensor call_in_float32(const Args&... args) {
  std::optional<DType> dtype;
  (detail::promote_to(dtype, args), ...);
  return call_in_float32_for<Op>(dtype.value_or(DType::Float32), args...);
}

}  // namespace lamella
