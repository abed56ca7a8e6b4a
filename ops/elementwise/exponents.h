#pragma once

#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/log.h"
#include "ops/elementwise/sigmoid.h"
#include "ops/elementwise/where.h"

namespace lamella {

struct Exp2 : Unary<Exp2> {
  static constexpr OpInfo info{
      .name = "exp2", .doc = "2 ** x.", .reference = "np.exp2(x)", .dtypes = Floating | Complex};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return exp2(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    // The largest powers would overflow where their product with log(2) does not, so half the power is computed and
    // doubled.
    const auto above = real(x) > 0;
    const X power = exp2(where(above, x - 1, x));
    return dy * where(above, 1.38629436111989061883 * power, 0.69314718055994530942 * power);
  }
};

struct LogAddExp : Binary<LogAddExp> {
  static constexpr OpInfo info{.name = "logaddexp",
                               .doc = "log(exp(a) + exp(b)), computed so that nothing overflows.",
                               .example = "logaddexp(full([2], 0.5), full([2], 0.25))",
                               .reference = "np.logaddexp(a, b)",
                               .dtypes = Floating};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return logaddexp(a, b);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& a, const X& b, const X&, const X& dy) {
    return dy * sigmoid(difference(a, b));
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& a, const X& b, const X&, const X& dy) {
    return dy * sigmoid(difference(b, a));
  }
  /// Returns a - b, and 0 for equal infinities, which is a tie like any other.
  template <class X>
  LM_HD static constexpr X difference(const X& a, const X& b) {
    return where((a == b) & isinf(a), 0, a - b);
  }
  /// Composed for complex numbers.
  static Tensor call(const Operand& a, const Operand& b);
};

struct LogAddExp2 : Binary<LogAddExp2> {
  static constexpr OpInfo info{.name = "logaddexp2",
                               .doc = "log2(2 ** a + 2 ** b), computed so that nothing overflows.",
                               .example = "logaddexp2(full([2], 0.5), full([2], 0.25))",
                               .reference = "np.logaddexp2(a, b)",
                               .dtypes = Floating};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return logaddexp2(a, b);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& a, const X& b, const X&, const X& dy) {
    return dy * sigmoid(LogAddExp::difference(a, b) * 0.69314718055994530942);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& a, const X& b, const X&, const X& dy) {
    return dy * sigmoid(LogAddExp::difference(b, a) * 0.69314718055994530942);
  }
};

struct Xlogy : Binary<Xlogy> {
  static constexpr OpInfo info{.name = "xlogy",
                               .doc = "a * log(b), and 0 where a is 0 (unless b is NaN).",
                               .example = "xlogy(full([2], 0.5), full([2], 0.25))",
                               .reference = "sp.xlogy(a, b)",
                               .dtypes = Floating,
                               .sample_low = 0.2,
                               .sample_high = 3.0};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return where((a == 0) & (b == b), 0, a * log(b));
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& a, const X& b, const X&, const X& dy) {
    return dy * log(where((a == 0) & (b <= 0), 1, b));
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& a, const X& b, const X&, const X& dy) {
    return dy * a / where((a == 0) & (b == 0), 1, b);
  }
};

inline Tensor exp2(const Tensor& x) { return Exp2::call(x); }
inline Tensor logaddexp(const Operand& a, const Operand& b) { return LogAddExp::call(a, b); }
inline Tensor logaddexp2(const Operand& a, const Operand& b) { return LogAddExp2::call(a, b); }
inline Tensor xlogy(const Operand& a, const Operand& b) { return Xlogy::call(a, b); }

}  // namespace lamella
