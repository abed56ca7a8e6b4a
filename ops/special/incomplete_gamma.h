#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"
#include "ops/special/number_by_number.h"

namespace lamella {

struct GammaInc : NumberByNumber {
  static constexpr OpInfo info{.name = "gammainc",
                               .doc =
                                   "The regularized lower incomplete gamma function: the integral of t ** (a - 1) * "
                                   "exp(-t) from 0 to x, divided by gamma(a); NaN for a negative a or x. It has no "
                                   "derivative by a.",
                               .parameters = "a, x, /",
                               .example = "gammainc(full([2], 0.5), 1.0)",
                               .reference = "sp.gammainc(a, x)",
                               .dtypes = Floating,
                               .sample_low = 0.2,
                               .sample_high = 5.0};
  static Tensor call(const Operand& a, const Operand& x);
};

struct GammaIncC : NumberByNumber {
  static constexpr OpInfo info{
      .name = "gammaincc",
      .doc =
          "1 - gammainc(a, x), the regularized upper incomplete gamma function, accurate where the result is near 0.",
      .parameters = "a, x, /",
      .example = "gammaincc(full([2], 0.5), 1.0)",
      .reference = "sp.gammaincc(a, x)",
      .dtypes = Floating,
      .sample_low = 0.2,
      .sample_high = 5.0};
  static Tensor call(const Operand& a, const Operand& x);
};

}  // namespace lamella
