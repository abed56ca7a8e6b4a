#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

struct Square : Unary<Square> {
  static constexpr bool kShortFormula = true;
  static constexpr OpInfo info{.name = "square", .doc = "x * x.", .reference = "np.square(x)", .dtypes = Numeric};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return x * x;
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return 2 * dy * x;
  }
  /// The result for bools is int64.
  static Tensor call(const Tensor& x);
};

struct Reciprocal : Unary<Reciprocal> {
  static constexpr OpInfo info{.name = "reciprocal",
                               .doc = "1 / x.",
                               .reference = "np.reciprocal(x)",
                               .dtypes = Floating | Complex,
                               .sample_low = 0.2,
                               .sample_high = 3.0};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return 1 / x;
  }
  template <class X>
  LM_HD static constexpr X backward(const X&, const X& y, const X& dy) {
    return -dy * y * y;
  }
};

inline Tensor square(const Tensor& x) { return Square::call(x); }
inline Tensor reciprocal(const Tensor& x) { return Reciprocal::call(x); }

}  // namespace lamella
