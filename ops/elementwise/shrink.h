#pragma once

#include "ops/elementwise/abs.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/tanh.h"
#include "ops/elementwise/where.h"

// Units that draw values near 0 to it.

namespace lamella {

struct Hardshrink : Binary<Hardshrink> {
  static constexpr OpInfo info{
      .name = "hardshrink",
      .doc = "0 where |x| <= lambd, x elsewhere. The gradient passes where x does; lambd is a constant to derivatives.",
      .parameters = "x, /, lambd=0.5",
      .example = "hardshrink(full([2], 0.75))",
      .reference = "np.where((x >= -lambd) & (x <= lambd), 0, x)",
      .dtypes = Floating,
      .method = false};
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
      .method = false};
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
                               .example = "tanhshrink(full([2], 0.5))",
                               .reference = "x - np.tanh(x)",
                               .dtypes = Floating | Complex,
                               .method = false};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr X forward(const X& x) {
    return x - tanh(x);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * square(tanh(x));
  }
};

inline Tensor hardshrink(const Tensor& x, const Operand& lambd = 0.5) { return Hardshrink::call(x, lambd); }
inline Tensor softshrink(const Tensor& x, const Operand& lambd = 0.5) { return Softshrink::call(x, lambd); }
inline Tensor tanhshrink(const Tensor& x) { return Tanhshrink::call(x); }

}  // namespace lamella
