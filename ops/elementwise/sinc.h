#pragma once

#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/rounding.h"
#include "ops/elementwise/slopes.h"
#include "ops/elementwise/trigonometry.h"
#include "ops/elementwise/where.h"
#include "ops/simd/complex.h"

namespace lamella {

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

struct Sinc : Unary<Sinc> {
  static constexpr OpInfo info{.name = "sinc",
                               .doc = "sin(pi * x) / (pi * x), and 1 at 0.",
                               .reference = "np.sinc(x)",
                               .dtypes = Floating | Complex};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr X forward(const X& x) {
    return sinc_value(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * sinc_slope(x);
  }
};

inline Tensor sinc(const Tensor& x) { return Sinc::call(x); }

/// Returns the derivative of sin(z) / z of this order by its power series, for |z| <= 2.
Tensor sine_ratio_series(const Tensor& z, int order);
/// Returns the derivative of sin(z) / z of this order for any real z.
Tensor sine_ratio_derivative(const Tensor& z, int order);

}  // namespace lamella
