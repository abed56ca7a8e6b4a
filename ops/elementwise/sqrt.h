#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

struct Sqrt : Unary<Sqrt> {
  static constexpr OpInfo info{.name = "sqrt",
                               .doc = "The square root; NaN below 0. The derivative at 0 is infinite.",
                               .reference = "np.sqrt(x)",
                               .dtypes = Floating | Complex,
                               .sample_low = 0.05,
                               .sample_high = 4.0};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return sqrt(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X&, const X& y, const X& dy) {
    return dy / (2 * y);
  }
};

inline Tensor sqrt(const Tensor& x) { return Sqrt::call(x); }

}  // namespace lamella
