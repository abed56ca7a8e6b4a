#pragma once

#include "ops/elementwise/arithmetic.h"

// Sums with a scaled term, computed in one pass over all operands.

namespace lamella {

struct AddCMul : Quaternary<AddCMul> {
  static constexpr bool kShortFormula = true;
  static constexpr OpInfo info{.name = "addcmul",
                               .doc = "x + value * a * b.",
                               .parameters = "x, a, b, /, value=1",
                               .example = "addcmul(ones([2]), full([2], 2.0), full([2], 3.0), value=0.5)",
                               .reference = "x + value * a * b",
                               .dtypes = Numeric,
                               .sample_low = -2.0,
                               .sample_high = 2.0};
  template <class X>
  LM_HD static constexpr X forward(const X& x, const X& a, const X& b, const X& value) {
    return x + value * a * b;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X&, const X&, const X&, const X&, const X&, const X& dy) {
    return dy;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X&, const X&, const X& b, const X& value, const X&, const X& dy) {
    return dy * value * b;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<2>, const X&, const X& a, const X&, const X& value, const X&, const X& dy) {
    return dy * value * a;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<3>, const X&, const X& a, const X& b, const X&, const X&, const X& dy) {
    return dy * a * b;
  }
};

struct AddCDiv : Quaternary<AddCDiv> {
  static constexpr bool kShortFormula = true;
  static constexpr OpInfo info{.name = "addcdiv",
                               .doc = "x + value * a / b.",
                               .parameters = "x, a, b, /, value=1",
                               .example = "addcdiv(ones([2]), full([2], 2.0), full([2], 3.0), value=0.5)",
                               .reference = "x + value * a / b",
                               .dtypes = Floating | Complex,
                               .sample_low = 0.5,
                               .sample_high = 2.0};
  template <class X>
  LM_HD static constexpr X forward(const X& x, const X& a, const X& b, const X& value) {
    return x + value * a / b;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X&, const X&, const X&, const X&, const X&, const X& dy) {
    return dy;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X&, const X&, const X& b, const X& value, const X&, const X& dy) {
    return dy * value / b;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<2>, const X&, const X& a, const X& b, const X& value, const X&, const X& dy) {
    return -dy * (value * a / b) / b;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<3>, const X&, const X& a, const X& b, const X&, const X&, const X& dy) {
    return dy * a / b;
  }
};

inline Tensor addcmul(const Operand& x, const Operand& a, const Operand& b, const Operand& value = 1) {
  return AddCMul::call(x, a, b, value);
}
inline Tensor addcdiv(const Operand& x, const Operand& a, const Operand& b, const Operand& value = 1) {
  return AddCDiv::call(x, a, b, value);
}

}  // namespace lamella
