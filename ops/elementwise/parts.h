#pragma once

#include <limits>

#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/rounding.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/where.h"
#include "ops/simd/complex.h"

namespace lamella {

struct CopySign : Binary<CopySign> {
  static constexpr OpInfo info{
      .name = "copysign",
      .doc = "The magnitude of a with the sign of b, also for zeros and NaN. The gradient at a = 0 is 0.",
      .example = "copysign(full([2], 0.5), full([2], 0.25))",
      .reference = "np.copysign(a, b)",
      .dtypes = Floating,
      .kinks = {0.0, __builtin_nan("")}};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return copysign(a, b);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& a, const X&, const X& y, const X& dy) {
    return dy * sign(a) * sign(y);
  }
};

/// Returns the derivative of hypot(a, b) = y by a, a / y: 0 at the origin, and at infinity the direction of the
/// diagonal or axis.
template <class X>
LM_HD constexpr X hypot_slope(const X& a, const X& b, const X& y) {
  const X far = sign(a) * where(isinf(b), 0.70710678118654752440, 1);
  return where(y == 0, 0, where(isinf(a), far, a / y));
}
Tensor hypot_slope(const Tensor& a, const Tensor& b, const Tensor& y);

struct Hypot : Binary<Hypot> {
  static constexpr OpInfo info{
      .name = "hypot",
      .doc = "sqrt(a * a + b * b), computed so that nothing overflows. The gradient at (0, 0) is 0.",
      .example = "hypot(full([2], 0.5), full([2], 0.25))",
      .reference = "np.hypot(a, b)",
      .dtypes = Floating};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return hypot(a, b);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& a, const X& b, const X& y, const X& dy) {
    return dy * hypot_slope(a, b, y);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& a, const X& b, const X& y, const X& dy) {
    return dy * hypot_slope(b, a, y);
  }
};

struct NextAfter : Binary<NextAfter> {
  static constexpr OpInfo info{.name = "nextafter",
                               .doc = "The next number of the dtype after a in the direction of b.",
                               .example = "nextafter(full([2], 0.5), full([2], 0.25))",
                               .reference = "np.nextafter(a, b)",
                               .dtypes = Floating};
  static constexpr bool kInWiderDType = false;
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return nextafter(a, b);
  }
};

struct Fmod : Binary<Fmod> {
  static constexpr OpInfo info{
      .name = "fmod",
      .doc = "The remainder of the truncated quotient, with the sign of a, as in C; 0 for an integer divided by 0.",
      .example = "fmod(full([2], 0.5), full([2], 0.25))",
      .reference = "np.fmod(a, b)",
      .dtypes = Real,
      .kinks = {0.0, __builtin_nan("")}};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return fmod(a, b);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X&, const X&, const X&, const X& dy) {
    return dy;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& a, const X& b, const X&, const X& dy) {
    if constexpr (std::is_same_v<X, Tensor>) {
      // Uses operators without a derivative: that of a / b may be infinite, and infinity times 0 is NaN.
      return -dy * (sign(a) * sign(b) * floor_divide(abs(a), abs(b)));
    } else {
      return -dy * trunc(a / b);
    }
  }
};

struct SignBit : Unary<SignBit> {
  static constexpr OpInfo info{.name = "signbit",
                               .doc = "True where the sign bit is set, also for zeros and NaN.",
                               .reference = "np.signbit(x)",
                               .dtypes = Floating};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return signbit(x);
  }
};

struct Frac : Unary<Frac> {
  static constexpr OpInfo info{.name = "frac",
                               .doc = "x without its integer part: x - trunc(x).",
                               .reference = "x - np.trunc(x)",
                               .dtypes = Floating,
                               .kinks = {0.0, -1.0, 1.0, __builtin_nan("")}};
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return frac(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X&, const X&, const X& dy) {
    return dy;
  }
};

struct Rsqrt : Unary<Rsqrt> {
  static constexpr OpInfo info{.name = "rsqrt",
                               .doc = "1 / sqrt(x).",
                               .reference = "1 / np.sqrt(x)",
                               .dtypes = Floating | Complex,
                               .sample_low = 0.1,
                               .sample_high = 4.0};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr auto forward(const X& x) {
    return 1 / sqrt(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X&, const X& y, const X& dy) {
    return -0.5 * dy * y * y * y;
  }
};

struct Heaviside : Binary<Heaviside> {
  static constexpr OpInfo info{.name = "heaviside",
                               .doc = "0 where a < 0, 1 where a > 0, b where a is 0; NaN for NaN.",
                               .example = "heaviside(full([2], 0.5), full([2], 0.25))",
                               .reference = "np.heaviside(a, b)",
                               .dtypes = Real | Boolean};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return where(a > 0, 1, where(a < 0, 0, where(a == 0, b, a)));
  }
};

struct Fmax : Binary<Fmax> {
  static constexpr OpInfo info{.name = "fmax",
                               .doc =
                                   "The larger operand, or the other one if one is NaN. The gradient goes to the "
                                   "operand that is taken, and to a if both are equal.",
                               .example = "fmax(full([2], 0.5), full([2], 0.25))",
                               .reference = "np.fmax(a, b)",
                               .dtypes = Real | Boolean};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return where(isnan(a), b, where(isnan(b) | (a >= b), a, b));
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& a, const X& b, const X&, const X& dy) {
    return where((a >= b) | isnan(b), dy, 0);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& a, const X& b, const X&, const X& dy) {
    return where((a >= b) | isnan(b), 0, dy);
  }
};

struct Fmin : Binary<Fmin> {
  static constexpr OpInfo info{.name = "fmin",
                               .doc =
                                   "The smaller operand, or the other one if one is NaN. The gradient goes to the "
                                   "operand that is taken, and to a if both are equal.",
                               .example = "fmin(full([2], 0.5), full([2], 0.25))",
                               .reference = "np.fmin(a, b)",
                               .dtypes = Real | Boolean};
  template <class X>
  LM_HD static constexpr auto forward(const X& a, const X& b) {
    return where(isnan(a), b, where(isnan(b) | (a <= b), a, b));
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& a, const X& b, const X&, const X& dy) {
    return where((a <= b) | isnan(b), dy, 0);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& a, const X& b, const X&, const X& dy) {
    return where((a <= b) | isnan(b), 0, dy);
  }
};

struct Lerp : Ternary<Lerp> {
  static constexpr bool kShortFormula = true;
  static constexpr OpInfo info{.name = "lerp",
                               .doc =
                                   "The linear interpolation from a to b: a + c * (b - a), computed from the nearer "
                                   "end, so that it is b at 1, and without an overflow between numbers of other signs.",
                               .example = "lerp(full([2], 1.0), full([2], 3.0), 0.25)",
                               .reference = "a + c * (b - a)",
                               .dtypes = Floating | Complex};
  template <class X>
  LM_HD static constexpr X forward(const X& a, const X& b, const X& c) {
    // From the nearer end both ends are exact, and an infinite farther one makes the result infinite.
    const X way = b - a;
    const X from_end = where(abs(c) < 0.5, a + c * way, b - way * (1 - c));
    if constexpr (simd::kIsComplexOperand<X>) {
      return from_end;
    } else {
      // Finite numbers may have an infinite difference.
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      const X from_both = where(abs(a) < kInfinity, where(abs(b) < kInfinity, a * (1 - c) + b * c, from_end), from_end);
      return where(abs(way) < kInfinity, from_end, from_both);
    }
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X&, const X&, const X& c, const X&, const X& dy) {
    return dy * (1 - c);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X&, const X&, const X& c, const X&, const X& dy) {
    return dy * c;
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<2>, const X& a, const X& b, const X&, const X&, const X& dy) {
    return dy * (b - a);
  }
};

inline Tensor copysign(const Operand& a, const Operand& b) { return CopySign::call(a, b); }
inline Tensor hypot(const Operand& a, const Operand& b) { return Hypot::call(a, b); }
inline Tensor nextafter(const Operand& a, const Operand& b) { return NextAfter::call(a, b); }
inline Tensor fmod(const Operand& a, const Operand& b) { return Fmod::call(a, b); }
inline Tensor signbit(const Tensor& x) { return SignBit::call(x); }
inline Tensor frac(const Tensor& x) { return Frac::call(x); }
inline Tensor rsqrt(const Tensor& x) { return Rsqrt::call(x); }
inline Tensor heaviside(const Operand& a, const Operand& b) { return Heaviside::call(a, b); }
inline Tensor fmax(const Operand& a, const Operand& b) { return Fmax::call(a, b); }
inline Tensor fmin(const Operand& a, const Operand& b) { return Fmin::call(a, b); }
inline Tensor lerp(const Operand& a, const Operand& b, const Operand& c) { return Lerp::call(a, b, c); }

}  // namespace lamella
