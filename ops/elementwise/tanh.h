#pragma once

#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/slopes.h"
#include "ops/simd/complex.h"

namespace lamella {

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

namespace detail {
/// Formulas on tensors for the first, second and third derivative of tanh.
Tensor tanh_1(const Tensor& x);
Tensor tanh_2(const Tensor& x);
Tensor tanh_3(const Tensor& x);
}  // namespace detail

struct Tanh : Unary<Tanh> {
  static constexpr OpInfo info{
      .name = "tanh", .doc = "The hyperbolic tangent.", .reference = "np.tanh(x)", .dtypes = Floating | Complex};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return tanh(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X& y, const X& dy) {
    return dy * tanh_slope(x, y);
  }
};

inline Tensor tanh(const Tensor& x) { return Tanh::call(x); }

}  // namespace lamella
