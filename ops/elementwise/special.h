#pragma once

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/erf.h"
#include "ops/elementwise/exp.h"

namespace lamella {

struct Erfc : Unary<Erfc> {
  static constexpr OpInfo info{.name = "erfc",
                               .doc = "1 - erf(x), accurate where the result is near 0.",
                               .reference = "sp.erfc(x)",
                               .dtypes = Floating};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return erfc(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return -1.12837916709551257390 * dy * bell(x);
  }
};

struct Erfinv : Unary<Erfinv> {
  static constexpr OpInfo info{.name = "erfinv",
                               .doc = "The inverse of erf; NaN beyond [-1, 1].",
                               .reference = "sp.erfinv(x)",
                               .dtypes = Floating,
                               .sample_low = -0.9,
                               .sample_high = 0.9};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return erfinv(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X&, const X& y, const X& dy) {
    return 0.88622692545275801365 * dy * exp(y * y);
  }
};

struct Zeta : Binary<Zeta> {
  static constexpr OpInfo info{
      .name = "zeta",
      .doc =
          "Hurwitz's zeta function, the sum of (b + k) ** -a over all k from 0, for a > 1. It has no derivative by a.",
      .example = "zeta(full([2], 2.0), 1.0)",
      .reference = "sp.zeta(a, b)",
      .dtypes = Floating,
      .sample_low = 1.2,
      .sample_high = 5.0};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return zeta(a, b);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& a, const X& b, const X&, const X& dy) {
    return -dy * a * zeta(a + 1, b);
  }
};

struct Digamma : Unary<Digamma> {
  static constexpr OpInfo info{.name = "digamma",
                               .doc = "The derivative of lgamma.",
                               .reference = "sp.digamma(x)",
                               .dtypes = Floating,
                               .sample_low = 0.3,
                               .sample_high = 12.0};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return digamma(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * zeta(2, x);
  }
};

struct Lgamma : Unary<Lgamma> {
  static constexpr OpInfo info{.name = "lgamma",
                               .doc = "The logarithm of the absolute value of the gamma function.",
                               .reference = "sp.gammaln(x)",
                               .dtypes = Floating,
                               .sample_low = 0.3,
                               .sample_high = 12.0};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return lgamma(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * digamma(x);
  }
};

inline Tensor erfc(const Tensor& x) { return Erfc::call(x); }
inline Tensor erfinv(const Tensor& x) { return Erfinv::call(x); }
inline Tensor zeta(const Operand& a, const Operand& b) { return Zeta::call(a, b); }
inline Tensor digamma(const Tensor& x) { return Digamma::call(x); }
inline Tensor lgamma(const Tensor& x) { return Lgamma::call(x); }

}  // namespace lamella
