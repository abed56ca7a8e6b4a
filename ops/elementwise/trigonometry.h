#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

struct Sin : Unary<Sin> {
  static constexpr OpInfo info{.name = "sin",
                               .doc = "The sine of x in radians.",
                               .example = "sin(full([2], 0.5))",
                               .reference = "np.sin(x)",
                               .dtypes = Floating | Complex};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return sin(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * cos(x);
  }
};

struct Cos : Unary<Cos> {
  static constexpr OpInfo info{.name = "cos",
                               .doc = "The cosine of x in radians.",
                               .example = "cos(full([2], 0.5))",
                               .reference = "np.cos(x)",
                               .dtypes = Floating | Complex};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return cos(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return -dy * sin(x);
  }
};

inline Tensor sin(const Tensor& x) { return Sin::call(x); }
inline Tensor cos(const Tensor& x) { return Cos::call(x); }

}  // namespace lamella
