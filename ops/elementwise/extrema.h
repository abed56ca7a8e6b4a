#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

struct Maximum : Binary<Maximum> {
  static constexpr bool kShortFormula = true;
  static constexpr OpInfo info{
      .name = "maximum",
      .doc = "The larger operand; NaN if one of them is. Equal operands get half of the gradient each.",
      .example = "maximum(full([2], 1), full([2], 2))",
      .reference = "np.maximum(a, b)",
      .dtypes = Real | Boolean};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return maximum(a, b);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& a, const X& b, const X&, const X& dy) {
    return where(a == b, 0.5 * dy, where(a > b, dy, 0));
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& a, const X& b, const X&, const X& dy) {
    return where(a == b, 0.5 * dy, where(a < b, dy, 0));
  }
};

struct Minimum : Binary<Minimum> {
  static constexpr bool kShortFormula = true;
  static constexpr OpInfo info{
      .name = "minimum",
      .doc = "The smaller operand; NaN if one of them is. Equal operands get half of the gradient each.",
      .example = "minimum(full([2], 1), full([2], 2))",
      .reference = "np.minimum(a, b)",
      .dtypes = Real | Boolean};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return minimum(a, b);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& a, const X& b, const X&, const X& dy) {
    return where(a == b, 0.5 * dy, where(a < b, dy, 0));
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& a, const X& b, const X&, const X& dy) {
    return where(a == b, 0.5 * dy, where(a > b, dy, 0));
  }
};

inline Tensor maximum(const Operand& a, const Operand& b) { return Maximum::call(a, b); }
inline Tensor minimum(const Operand& a, const Operand& b) { return Minimum::call(a, b); }

}  // namespace lamella
