#pragma once

#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/slopes.h"
#include "ops/simd/complex.h"

namespace lamella {

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

namespace detail {
/// Formulas on tensors for the first, second and third derivative of sigmoid.
Tensor sigmoid_1(const Tensor& x);
Tensor sigmoid_2(const Tensor& x);
Tensor sigmoid_3(const Tensor& x);
}  // namespace detail

struct Sigmoid : Unary<Sigmoid> {
  static constexpr OpInfo info{.name = "sigmoid",
                               .doc = "The logistic function 1 / (1 + exp(-x)).",
                               .reference = "1 / (1 + np.exp(-x))",
                               .dtypes = Floating | Complex};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return sigmoid(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X& y, const X& dy) {
    return dy * sigmoid_slope(x, y);
  }
};

inline Tensor sigmoid(const Tensor& x) { return Sigmoid::call(x); }

}  // namespace lamella
