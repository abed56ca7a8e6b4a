#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

struct Sign : Unary<Sign> {
  static constexpr OpInfo info{
      .name = "sign",
      .doc = "-1, 0 or 1; NaN for NaN; x / |x| for complex x, and 0 for 0. The gradient of real x is 0.",
      .reference = "np.sign(x)",
      .dtypes = Real,
      .kinks = {0.0, __builtin_nan("")}};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return sign(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X&, const X&, const X& dy) {
    return 0 * dy;
  }
  /// Composed for complex numbers, whose gradient differs; returns x for bools.
  static Tensor call(const Tensor& x);
};

struct Abs : Unary<Abs> {
  static constexpr bool kShortFormula = true;
  static constexpr OpInfo info{.name = "abs",
                               .doc = "The absolute value, a real number. The subgradient at 0 is 0.",
                               .reference = "np.abs(x)",
                               .dtypes = Numeric,
                               .kinks = {0.0, __builtin_nan("")}};
  static constexpr bool kHolomorphic = false;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return abs(x);
  }
  template <class X, class Y>
  LM_HD static constexpr X backward(const X& x, const Y&, const Y& dy) {
    return dy * sign(x);
  }
};

inline Tensor sign(const Tensor& x) { return Sign::call(x); }
inline Tensor abs(const Tensor& x) { return Abs::call(x); }

}  // namespace lamella
