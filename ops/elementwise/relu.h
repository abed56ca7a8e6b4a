#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

struct Relu : Unary<Relu> {
  static constexpr bool kShortFormula = true;
  static constexpr OpInfo info{.name = "relu",
                               .doc = "max(x, 0); NaN stays NaN. The subgradient at 0 is 0.",
                               .reference = "np.maximum(x, 0)",
                               .dtypes = Real,
                               .kinks = {0.0, __builtin_nan("")}};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return maximum(x, 0);
  }
  template <class X>
  LM_HD static constexpr X backward(const X&, const X& y, const X& dy) {
    return where(y > 0, dy, 0);
  }
};

inline Tensor relu(const Tensor& x) { return Relu::call(x); }

}  // namespace lamella
