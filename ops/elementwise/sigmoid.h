#pragma once

#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/slopes.h"

namespace lamella {

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
