#pragma once

#include "ops/elementwise/complex.h"
#include "ops/elementwise/elementwise.h"

namespace lamella {

struct Pow : Binary<Pow> {
  static constexpr OpInfo info{.name = "pow",
                               .doc =
                                   "a to the power b. Integers to negative powers out of a tensor give 0 (except 1 and "
                                   "-1); to a negative number "
                                   "they are an error. d/db is 0 where a is 0 and b is not negative.",
                               .example = "pow(full([2], 1), full([2], 2))",
                               .reference = "np.power(a, b)",
                               .dtypes = Numeric,
                               .sample_low = 0.2,
                               .sample_high = 2.5,
                               .autocast = Autocast::Float32};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return pow(a, b);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& a, const X& b, const X&, const X& dy) {
    if constexpr (std::is_same_v<X, Tensor>) {
      // Has a derivative by b at b = 0 as well, without computing infinity times 0.
      return dy * (b * pow(where((b == 0) & isinf(reciprocal(a)), 1, a), b - 1));
    } else {
      return dy * where(b == 0, 0, b * pow(a, b - 1));
    }
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& a, const X& b, const X& y, const X& dy) {
    return dy * (y * log(where((a == 0) & (real(b) >= 0), 1, a)));
  }
};

inline Tensor pow(const Operand& a, const Operand& b) { return Pow::call(a, b); }

}  // namespace lamella
