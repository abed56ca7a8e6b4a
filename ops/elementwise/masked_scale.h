#pragma once

#include "ops/elementwise/elementwise.h"

namespace lamella {

struct MaskedScale : Ternary<MaskedScale> {
  static constexpr bool kMaskInput = true;
  static constexpr OpInfo info{
      .name = "masked_scale",
      .doc =
          "scale * x where the bool tensor `condition` is true, else 0, also where x is NaN: what "
          "dropout does with its mask. scale is a constant to derivatives.",
      .parameters = "condition, x, scale, /",
      .example = "masked_scale(ones([2], dtype='bool'), full([2], 3.0), 2.0)",
      .reference = "np.where(condition, x * scale, 0)",
      .dtypes = Floating | Complex,
      .method = false,
      .settings = {{2, 1.25}}};
  template <class M, class X>
  LM_HD static constexpr X forward(const M& condition, const X& x, const X& scale) {
    return where(condition, x * scale, 0);
  }
  template <class M, class X>
  LM_HD static constexpr X backward(Wrt<1>, const M& condition, const X&, const X& scale, const X&, const X& dy) {
    return where(condition, dy * scale, 0);
  }
};

inline Tensor masked_scale(const Operand& condition, const Operand& x, const Operand& scale) {
  return MaskedScale::call(condition, x, scale);
}

}  // namespace lamella
