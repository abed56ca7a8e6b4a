#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

struct Where : Ternary<Where> {
  static constexpr OpInfo info{.name = "where",
                               .doc = "a where the bool tensor `condition` is true, else b.",
                               .parameters = "condition, a, b, /",
                               .example = "where(ones([2], dtype='bool'), 1.0, 2.0)",
                               .reference = "np.where(condition, a, b)",
                               .method = false};
  static constexpr bool kMaskInput = true;
  template <class M, class X>
  LM_HD static constexpr X forward(const M& condition, const X& a, const X& b) {
    return where(condition, a, b);
  }
  template <class M, class X>
  LM_HD static constexpr X backward(Wrt<1>, const M& condition, const X&, const X&, const X&, const X& dy) {
    return where(condition, dy, 0);
  }
  template <class M, class X>
  LM_HD static constexpr X backward(Wrt<2>, const M& condition, const X&, const X&, const X&, const X& dy) {
    return where(condition, 0, dy);
  }
};

inline Tensor where(const Operand& condition, const Operand& a, const Operand& b) {
  return Where::call(condition, a, b);
}

}  // namespace lamella
