#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

struct Exp : Unary<Exp> {
  static constexpr OpInfo info{.name = "exp",
                               .doc = "The exponential e ** x.",
                               .reference = "np.exp(x)",
                               .dtypes = Floating | Complex,
                               .autocast = Autocast::Float32};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return exp(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X&, const X& y, const X& dy) {
    return dy * y;
  }
};

struct Expm1 : Unary<Expm1> {
  static constexpr OpInfo info{.name = "expm1",
                               .doc = "exp(x) - 1, accurate near 0.",
                               .reference = "np.expm1(x)",
                               .dtypes = Floating | Complex,
                               .autocast = Autocast::Float32};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return expm1(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * exp(x);
  }
};

inline Tensor exp(const Tensor& x) { return Exp::call(x); }
inline Tensor expm1(const Tensor& x) { return Expm1::call(x); }

}  // namespace lamella
