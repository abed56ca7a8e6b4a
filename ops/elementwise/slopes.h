#pragma once

#include "engine/core/tensor.h"
#include "ops/simd/complex.h"
#include "ops/simd/hd.h"

// Derivatives shared by gradient formulas, written without cancellation, overflow or premature underflow.

// Note [Slopes]
// A gradient formula may be accurate to the last digit while its own derivative, taken by the rules for
// sums and products, cancels: sigmoid(x) * sigmoid(-x) has the derivative s'(x) s(-x) - s(x) s'(-x), which is 0 near 0.
// In such cases the factor of dy is a named function. In a kernel it is a template. On tensors, in a second derivative,
// it is a layer with formulas for its own derivatives, up to the operator's third (slopes.cc); higher orders are
// derived from the last of them.

namespace lamella {

namespace detail {
/// A finite stand-in for larger arguments of functions that have reached their limit, so that infinity times 0 does not
/// occur.
inline constexpr double kFar = 1000;

template <class X>
LM_HD constexpr X within(const X& x, double bound) {
  return maximum(minimum(x, bound), -bound);
}
}  // namespace detail

/// Returns the derivative of tanh, 1 - tanh(x)^2.
template <class X>
LM_HD constexpr X tanh_slope(const X& x) {
  if constexpr (simd::kIsComplexOperand<X>) {
    const X t = tanh(x);
    return 1 - t * t;
  } else {
    const X e = exp(-2 * abs(x));
    const X d = 1 + e;
    return 4 * e / (d * d);
  }
}
Tensor tanh_slope(const Tensor& x);
/// Returns the derivative of tanh given y = tanh(x): e^-2|x| (1 + |y|)^2, without a division.
template <class X>
LM_HD constexpr X tanh_slope(const X& x, const X& y) {
  if constexpr (simd::kIsComplexOperand<X>) {
    return 1 - y * y;
  } else {
    const X side = 1 + abs(y);
    return exp(-2 * abs(x)) * side * side;
  }
}
inline Tensor tanh_slope(const Tensor& x, const Tensor&) { return tanh_slope(x); }

/// Returns the derivative of sigmoid, sigmoid(x) sigmoid(-x).
template <class X>
LM_HD constexpr X sigmoid_slope(const X& x) {
  if constexpr (simd::kIsComplexOperand<X>) {
    const X s = sigmoid(x);
    return s * (1 - s);
  } else {
    const X e = exp(-abs(x));
    const X d = 1 + e;
    return e / (d * d);
  }
}
Tensor sigmoid_slope(const Tensor& x);
/// Returns the derivative of sigmoid given y = sigmoid(x): y (1 - y), with 1 - y = e^-x y if x is positive.
template <class X>
LM_HD constexpr X sigmoid_slope(const X& x, const X& y) {
  if constexpr (simd::kIsComplexOperand<X>) {
    return y * (1 - y);
  } else {
    return where(x > 0, exp(-abs(x)) * y, 1 - y) * y;
  }
}
inline Tensor sigmoid_slope(const Tensor& x, const Tensor&) { return sigmoid_slope(x); }

/// Returns the derivative of x sigmoid(x).
template <class X>
LM_HD constexpr X silu_slope(const X& x) {
  const X s = sigmoid(x);
  if constexpr (simd::kIsComplexOperand<X>) {
    return s * (1 + x * (1 - s));
  } else {
    return s + detail::within(x, detail::kFar) * sigmoid_slope(x);
  }
}
Tensor silu_slope(const Tensor& x);

/// Returns the derivative of x tanh(log(1 + exp(x))). With e = exp(-|x|), tanh and its derivative are quotients of
/// polynomials.
template <class X>
LM_HD constexpr X mish_slope(const X& x) {
  const X e = exp(-abs(x));
  const X one = (1 + e) * (1 + e);
  const auto above = x > 0;
  const X sum = where(above, one + e * e, one + 1);
  const X gate = where(above, 1 + 2 * e, e * (e + 2)) / sum;
  const X rest = where(above, e * e, 1) * (4 * one) / (sum * sum);  // 1 - gate^2
  return gate + detail::within(x, detail::kFar) * rest * (where(above, 1, e) / (1 + e));
}
Tensor mish_slope(const Tensor& x);

/// Returns the derivative of x Phi(x): Phi(x) + x phi(x).
template <class X>
LM_HD constexpr X gelu_slope(const X& x) {
  const X near = detail::within(x, 40);
  return 0.5 * erfc(-0.70710678118654752440 * x) + 0.39894228040143267794 * near * exp(-0.5 * near * near);
}
Tensor gelu_slope(const Tensor& x);

/// Returns the derivative of x sigmoid(z) with z = sqrt(8 / pi) (x + 0.044715 x^3); the sigmoid rounds to 0 or 1 for
/// |x| above 30.
template <class X>
LM_HD constexpr X gelu_tanh_slope(const X& x) {
  const X near = detail::within(x, 30);
  const X square_of = near * near;
  const X z = 1.59576912160573071176 * near * (1 + 0.044715 * square_of);
  return sigmoid(z) + near * (1.59576912160573071176 * (1 + 0.134145 * square_of)) * sigmoid_slope(z);
}
Tensor gelu_tanh_slope(const Tensor& x);

/// Returns the derivative of atan, 1 / (1 + x^2).
template <class X>
LM_HD constexpr X atan_slope(const X& x) {
  return 1 / (1 + x * x);
}
Tensor atan_slope(const Tensor& x);

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

/// Returns exp(-x^2), the derivative of erf without its constant factor.
template <class X>
LM_HD constexpr X bell(const X& x) {
  return exp(-x * x);
}
Tensor bell(const Tensor& x);

/// Returns the derivative of asin, 1 / sqrt(1 - x^2), with the root's argument factored to stay accurate near 1.
template <class X>
LM_HD constexpr X asin_slope(const X& x) {
  return 1 / sqrt((1 - x) * (1 + x));
}
Tensor asin_slope(const Tensor& x);

/// Returns the derivative of atanh, 1 / (1 - x^2).
template <class X>
LM_HD constexpr X atanh_slope(const X& x) {
  return 1 / ((1 - x) * (1 + x));
}
Tensor atanh_slope(const Tensor& x);

/// Returns the derivative of x - tanh(x).
template <class X>
LM_HD constexpr X tanhshrink_slope(const X& x) {
  const X t = tanh(x);
  return t * t;
}
Tensor tanhshrink_slope(const Tensor& x);

namespace detail {
/// sin(pi x) and cos(pi x) for real x, computed from the distance to the nearest integer, so that zeros are exact.
template <class X>
LM_HD constexpr X sign_at(const X& whole) {
  return 1 - 2 * abs(whole - 2 * trunc(0.5 * whole));
}
template <class X>
LM_HD constexpr X sin_pi(const X& x) {
  const X whole = round(x);
  const X rest = x - whole;
  return sign_at(whole) * sin(3.14159265358979323846 * rest);
}
template <class X>
LM_HD constexpr X cos_pi(const X& x) {
  const X whole = round(x);
  const X rest = x - whole;
  // Near a half, where the cosine is 0, it is the sine of the distance to the half.
  const X across = 0.5 - abs(rest);
  const X value = where(across < 0.25, sin(3.14159265358979323846 * across), cos(3.14159265358979323846 * rest));
  return sign_at(whole) * value;
}
}  // namespace detail

/// Returns sin(pi x) / (pi x), and 1 at 0.
template <class X>
LM_HD constexpr X sinc_value(const X& x) {
  if constexpr (simd::kIsComplexOperand<X>) {
    return where(x == 0, 1, sin(3.14159265358979323846 * x) / (3.14159265358979323846 * x));
  } else {
    return where(x == 0, 1, detail::sin_pi(x) / (3.14159265358979323846 * x));
  }
}

/// Returns the derivative of sinc: pi (cos(z) - sin(z) / z) / z with z = pi x, near 0 by its power series.
template <class X>
LM_HD constexpr X sinc_slope(const X& x) {
  const X z = 3.14159265358979323846 * x;
  const X w = z * z;
  // Coefficients -2 (k + 1) / (2 k + 3)!, with alternating signs.
  const X inner = w * (1.0 / 518918400 +
                       w * (-1.0 / 93405312000.0 + w * (1.0 / 22230464256000.0 + w * (-1.0 / 6758061133824000.0))));
  const X near = z * (-1.0 / 3 + w * (1.0 / 30 + w * (-1.0 / 840 + w * (1.0 / 45360 + w * (-1.0 / 3991680 + inner)))));
  const X divisor = where(x == 0, 1, z);
  if constexpr (simd::kIsComplexOperand<X>) {
    const X far = (cos(z) - sin(z) / divisor) / divisor;
    return 3.14159265358979323846 * where(abs(z) < 1.25, near, far);
  } else {
    const X far = (detail::cos_pi(x) - detail::sin_pi(x) / divisor) / divisor;
    return 3.14159265358979323846 * where(abs(z) < 1.25, near, far);
  }
}
Tensor sinc_slope(const Tensor& x);

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

/// Returns the derivative of hypot(a, b) = y by a, a / y: 0 at the origin, and at infinity the direction of the
/// diagonal or axis.
template <class X>
LM_HD constexpr X hypot_slope(const X& a, const X& b, const X& y) {
  const X far = sign(a) * where(isinf(b), 0.70710678118654752440, 1);
  return where(y == 0, 0, where(isinf(a), far, a / y));
}
Tensor hypot_slope(const Tensor& a, const Tensor& b, const Tensor& y);

}  // namespace lamella
