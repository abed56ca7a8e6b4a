#pragma once

#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/slopes.h"

namespace lamella {

/// Returns exp(-x^2), the derivative of erf without its constant factor.
template <class X>
LM_HD constexpr X bell(const X& x) {
  return exp(-x * x);
}
Tensor bell(const Tensor& x);

struct Erf : Unary<Erf> {
  static constexpr OpInfo info{
      .name = "erf", .doc = "The error function.", .reference = "sp.erf(x)", .dtypes = Floating};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return erf(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return 1.12837916709551257390 * dy * bell(x);
  }
};

inline Tensor erf(const Tensor& x) { return Erf::call(x); }

}  // namespace lamella
