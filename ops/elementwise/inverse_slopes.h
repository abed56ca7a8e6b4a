#pragma once

#include "engine/core/tensor.h"
#include "ops/simd/complex.h"
#include "ops/simd/hd.h"

// Derivatives of the inverse trigonometric and hyperbolic functions: see Note [Slopes].

namespace lamella {

/// Returns the derivative of asin, 1 / sqrt(1 - x^2), with the root's argument factored to stay accurate near 1.
template <class X>
LM_HD constexpr X asin_slope(const X& x) {
  return 1 / sqrt((1 - x) * (1 + x));
}
Tensor asin_slope(const Tensor& x);

/// Returns the derivative of atan, 1 / (1 + x^2).
template <class X>
LM_HD constexpr X atan_slope(const X& x) {
  return 1 / (1 + x * x);
}
Tensor atan_slope(const Tensor& x);

/// Returns the derivative of atan2(a, b) by a, b / (a^2 + b^2), without overflow or underflow of the squares. The
/// derivative by b is that of (b, a) with the opposite sign. 0 at the origin and if an operand is infinite.
template <class X>
LM_HD constexpr X atan2_slope(const X& a, const X& b) {
  const X size_of = maximum(abs(a), abs(b));
  const X p = a / size_of;
  const X q = b / size_of;
  const X slope = q / (p * p + q * q) / size_of;
  return where((size_of == 0) | isinf(size_of), 0, slope);
}
Tensor atan2_slope(const Tensor& a, const Tensor& b);

/// Returns the derivative of asinh, 1 / sqrt(1 + x^2).
template <class X>
LM_HD constexpr X asinh_slope(const X& x) {
  if constexpr (simd::kIsComplexOperand<X>) {
    return 1 / sqrt(1 + x * x);
  } else {
    return 1 / hypot(x, 1);
  }
}
Tensor asinh_slope(const Tensor& x);

/// Returns the derivative of acosh, 1 / sqrt(x^2 - 1).
template <class X>
LM_HD constexpr X acosh_slope(const X& x) {
  return 1 / (sqrt(x - 1) * sqrt(x + 1));
}
Tensor acosh_slope(const Tensor& x);

/// Returns the derivative of atanh, 1 / (1 - x^2).
template <class X>
LM_HD constexpr X atanh_slope(const X& x) {
  return 1 / ((1 - x) * (1 + x));
}
Tensor atanh_slope(const Tensor& x);

}  // namespace lamella
