#pragma once

#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/slopes.h"

namespace lamella {

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
