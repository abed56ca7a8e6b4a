#pragma once

#include <optional>

#include "ops/movement/cast.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"

namespace lamella {

/// An argument that call_in_floats() passes on unchanged: class numbers stay integers.
struct AsIs {
  const Tensor& x;
  // NOLINTNEXTLINE(google-explicit-constructor): stands for the tensor in a call.
  operator const Tensor&() const { return x; }
};

namespace detail {

constexpr bool is_integer_argument(const auto&) { return false; }
inline bool is_integer_argument(const Tensor& x) { return x.defined() && !is_differentiable(x.dtype()); }
inline bool is_integer_argument(const std::optional<Tensor>& x) { return x && is_integer_argument(*x); }

constexpr bool is_wide_argument(const auto&) { return false; }
inline bool is_wide_argument(const Tensor& x) { return x.defined() && is_wide_integer(x.dtype()); }
inline bool is_wide_argument(const std::optional<Tensor>& x) { return x && is_wide_argument(*x); }

inline void promote_inexact(std::optional<DType>&, const auto&) {}
inline void promote_inexact(std::optional<DType>& dtype, const Tensor& x) {
  if (!x.defined() || !is_differentiable(x.dtype())) return;
  dtype = dtype ? promote_types(*dtype, x.dtype()) : x.dtype();
}
inline void promote_inexact(std::optional<DType>& dtype, const std::optional<Tensor>& x) {
  if (x) promote_inexact(dtype, *x);
}
inline void promote_inexact(std::optional<DType>& dtype, const AsIs& kept) { promote_inexact(dtype, kept.x); }

template <class T>
T made_floating(const T& value, DType) {
  return value;
}
inline Tensor made_floating(const Tensor& x, DType dtype) { return is_integer_argument(x) ? cast(x, dtype) : x; }
inline std::optional<Tensor> made_floating(const std::optional<Tensor>& x, DType dtype) {
  if (!x) return x;
  return made_floating(*x, dtype);
}

}  // namespace detail

/// True if one of the arguments is a tensor of integers or bools.
bool any_integer(const auto&... args) { return (detail::is_integer_argument(args) || ...); }

/// Calls Op::call with floating numbers in place of integers and bools: of the dtype that the floating arguments have
/// together; without one, of the default floating dtype, or of float64 if some integers are wide (is_wide_integer()),
/// and the result is rounded once. An operator whose result is floating, and which is composed of others that would
/// compute with integers and wrap around, begins with
///
///     if (any_integer(input, target)) return call_in_floats<L1Loss>(input, target, reduction);
template <class Op, class... Args>
Tensor call_in_floats(const Args&... args) {
  std::optional<DType> dtype;
  (detail::promote_inexact(dtype, args), ...);
  if (dtype) return Op::call(detail::made_floating(args, real_dtype(*dtype))...);
  if (!(detail::is_wide_argument(args) || ...)) return Op::call(detail::made_floating(args, kDefaultFloat)...);
  const Tensor y = Op::call(detail::made_floating(args, DType::Float64)...);
  return cast(y, is_complex(y.dtype()) ? complex_dtype(kDefaultFloat) : kDefaultFloat);
}

}  // namespace lamella
