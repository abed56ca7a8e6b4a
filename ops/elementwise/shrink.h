#pragma once

#include "ops/elementwise/abs.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/slopes.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/tanh.h"
#include "ops/elementwise/where.h"

// Units that shrink values near 0 to 0.

namespace lamella {

/// Returns the derivative of x - tanh(x).
template <class X>
LM_HD constexpr X tanhshrink_slope(const X& x) {
  const X t = tanh(x);
  return t * t;
}
Tensor tanhshrink_slope(const Tensor& x);

struct Hardshrink : Binary<Hardshrink> {
  static constexpr OpInfo info{
      .name = "hardshrink",
      .doc = "0 where |x| <= lambd, x elsewhere. The gradient passes where x does; lambd is a constant to derivatives.",
      .parameters = "x, /, lambd=0.5",
      .example = "hardshrink(full([2], 0.75))",
      .reference = "np.where((x >= -lambd) & (x <= lambd), 0, x)",
      .dtypes = Floating,
      .method = false,
      .settings = {{1, 0.55}}};
  template <class X>
  LM_HD static constexpr X forward(const X& x, const X& lambd) {
    return where((x >= -lambd) & (x <= lambd), 0, x);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& x, const X& lambd, const X&, const X& dy) {
    return where((x >= -lambd) & (x <= lambd), 0, dy);
  }
};

struct Softshrink : Binary<Softshrink> {
  static constexpr OpInfo info{
      .name = "softshrink",
      .doc =
          "x moved towards 0 by lambd, and 0 where |x| <= lambd; there no gradient passes. lambd is a constant to "
          "derivatives. ValueError for a negative number.",
      .parameters = "x, /, lambd=0.5",
      .example = "softshrink(full([2], 0.75))",
      .reference = "np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * 0))",
      .dtypes = Floating,
      .method = false,
      .settings = {{1, 0.55}}};
  template <class X>
  LM_HD static constexpr X forward(const X& x, const X& lambd) {
    return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, x * 0));
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& x, const X& lambd, const X&, const X& dy) {
    return where((x >= -lambd) & (x <= lambd), 0, dy);
  }
  static void check_settings(const Operand& x, const Operand& lambd);
  static Tensor call(const Operand& x, const Operand& lambd) {
    check_settings(x, lambd);
    return Binary<Softshrink>::call(x, lambd);
  }
};

struct Tanhshrink : Unary<Tanhshrink> {
  static constexpr OpInfo info{.name = "tanhshrink",
                               .doc = "x - tanh(x).",
                               .reference = "x - np.tanh(x)",
                               .dtypes = Floating | Complex,
                               .method = false};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr X forward(const X& x) {
    if constexpr (simd::kIsComplexOperand<X>) {
      return x - tanh(x);
    } else {
      // Near 0 this is (x cosh(x) - sinh(x)) / cosh(x), with the power series of the difference: 2 k x^(2k + 1) / (2k +
      // 1)!.
      const X t = tanh(x);
      const X w = x * x;
      const X inner = w * (1.0 / 518918400 +
                           w * (1.0 / 93405312000.0 + w * (1.0 / 22230464256000.0 + w * (1.0 / 6758061133824000.0))));
      const X sum = 1.0 / 3 + w * (1.0 / 30 + w * (1.0 / 840 + w * (1.0 / 45360 + w * (1.0 / 3991680 + inner))));
      return where(abs(x) < 1, x * w * sum * sqrt(1 - t * t), x - t);
    }
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * tanhshrink_slope(x);
  }
};

inline Tensor hardshrink(const Tensor& x, const Operand& lambd = 0.5) { return Hardshrink::call(x, lambd); }
inline Tensor softshrink(const Tensor& x, const Operand& lambd = 0.5) { return Softshrink::call(x, lambd); }
inline Tensor tanhshrink(const Tensor& x) { return Tanhshrink::call(x); }

}  // namespace lamella
