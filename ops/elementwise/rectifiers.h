#pragma once

#include "ops/elementwise/compare.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/where.h"

// Units that pass values above a bound and bend the rest. Parameters after x are numbers or tensors that broadcast.

namespace lamella {

/// True if a mask holds in every lane, so that the other branch need not be computed; false if the type of mask cannot
/// tell.
template <class M>
LM_HD constexpr bool holds_everywhere(const M& mask) {
  if constexpr (requires { any(!mask); }) {
    return !any(!mask);
  } else {
    return false;
  }
}

struct LeakyRelu : Binary<LeakyRelu> {
  static constexpr OpInfo info{.name = "leaky_relu",
                               .doc =
                                   "x above 0, negative_slope * x elsewhere. The slope may be a tensor that is trained "
                                   "(see prelu); at 0 the derivative is the slope (Maas et al., 2013).",
                               .parameters = "x, /, negative_slope=0.01",
                               .example = "leaky_relu(full([2], -0.5), 0.1)",
                               .reference = "np.where(x > 0, x, negative_slope * x)",
                               .dtypes = Floating,
                               .kinks = {0.0, __builtin_nan("")},
                               .method = false,
                               .settings = {{1, 0.35}}};
  template <class X>
  LM_HD static constexpr X forward(const X& x, const X& slope) {
    return where(x > 0, x, slope * x);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& x, const X& slope, const X&, const X& dy) {
    return where(x > 0, dy, slope * dy);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<1>, const X& x, const X&, const X&, const X& dy) {
    return where(x > 0, 0, x * dy);
  }
};

struct Elu : Binary<Elu> {
  static constexpr OpInfo info{
      .name = "elu",
      .doc =
          "x above 0, alpha * (exp(x) - 1) elsewhere (Clevert et al., 2015); alpha is a constant to derivatives. At 0 "
          "the derivative is alpha.",
      .parameters = "x, /, alpha=1.0",
      .example = "elu(full([2], -0.5))",
      .reference = "np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))",
      .dtypes = Floating,
      .kinks = {0.0, __builtin_nan("")},
      .method = false,
      .settings = {{1, 1.4}}};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr X forward(const X& x, const X& alpha) {
    if (holds_everywhere(x > 0)) return x;
    return where(x > 0, x, alpha * expm1(x));
  }
  // The exponential takes arguments up to 0 only: an infinite one would turn the zero of the other branch into NaN.
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& x, const X& alpha, const X&, const X& dy) {
    return where(x > 0, dy, dy * alpha * exp(where(x > 0, 0, x)));
  }
};

struct Selu : Unary<Selu> {
  static constexpr OpInfo info{
      .name = "selu",
      .doc =
          "scale * elu(x, alpha) with the constants under which activations keep mean 0 and variance 1 (Klambauer et "
          "al., 2017). At 0 the derivative is scale * alpha.",
      .example = "selu(full([2], -0.5))",
      .reference = "1.0507009873554804934 * np.where(x > 0, x, 1.6732632423543772848 * np.expm1(np.minimum(x, 0)))",
      .dtypes = Floating,
      .kinks = {0.0, __builtin_nan("")},
      .method = false};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr X forward(const X& x) {
    X above = 1.0507009873554804934 * x;
    if (holds_everywhere(x > 0)) return above;
    return where(x > 0, above, 1.7580993408473768599 * expm1(x));
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * where(x > 0, 1.0507009873554804934, 1.7580993408473768599 * exp(where(x > 0, 0, x)));
  }
};

struct Celu : Binary<Celu> {
  static constexpr OpInfo info{
      .name = "celu",
      .doc =
          "x above 0, alpha * (exp(x / alpha) - 1) elsewhere (Barron, 2017); alpha, not 0, is a constant to "
          "derivatives.",
      .parameters = "x, /, alpha=1.0",
      .example = "celu(full([2], -0.5), 2.0)",
      .reference = "np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha))",
      .dtypes = Floating,
      .kinks = {0.0, __builtin_nan("")},
      .method = false,
      .settings = {{1, 0.7}}};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr X forward(const X& x, const X& alpha) {
    if (holds_everywhere(x > 0)) return x;
    return where(x > 0, x, alpha * expm1(x / alpha));
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& x, const X& alpha, const X&, const X& dy) {
    return where(x > 0, dy, dy * exp(where(x > 0, 0, x) / alpha));
  }
};

struct Hardtanh : Ternary<Hardtanh> {
  static constexpr OpInfo info{.name = "hardtanh",
                               .doc =
                                   "x limited to [min_val, max_val], constants to derivatives. Unlike clip's, the "
                                   "gradient passes strictly between the bounds only. ValueError for a number min_val "
                                   "above max_val.",
                               .parameters = "x, /, min_val=-1.0, max_val=1.0",
                               .example = "hardtanh(full([2], 5.0))",
                               .reference = "np.minimum(np.maximum(x, min_val), max_val)",
                               .dtypes = Real,
                               .method = false,
                               .settings = {{1, -1.05}, {2, 1.15}}};
  template <class X>
  LM_HD static constexpr X forward(const X& x, const X& low, const X& high) {
    return minimum(maximum(x, low), high);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& x, const X& low, const X& high, const X&, const X& dy) {
    return where((x <= low) | (x >= high), 0, dy);
  }
  static void check_settings(const Operand& x, const Operand& min_val, const Operand& max_val);
  static Tensor call(const Operand& x, const Operand& min_val, const Operand& max_val) {
    check_settings(x, min_val, max_val);
    return Ternary<Hardtanh>::call(x, min_val, max_val);
  }
};

struct Threshold : Ternary<Threshold> {
  static constexpr OpInfo info{.name = "threshold",
                               .doc =
                                   "x above `threshold`, `value` elsewhere; both are constants to derivatives, and the "
                                   "gradient passes above the threshold only.",
                               .parameters = "x, /, threshold, value",
                               .example = "threshold(full([2], 0.5), 1.0, 0.0)",
                               .reference = "np.where(x <= threshold, value, x)",
                               .dtypes = Real,
                               .method = false,
                               .settings = {{1, -0.65}, {2, 0.4}}};
  template <class X>
  LM_HD static constexpr X forward(const X& x, const X& threshold, const X& value) {
    return where(x <= threshold, value, x);
  }
  template <class X>
  LM_HD static constexpr X backward(Wrt<0>, const X& x, const X& threshold, const X&, const X&, const X& dy) {
    return where(x <= threshold, 0, dy);
  }
};

inline Tensor leaky_relu(const Tensor& x, const Operand& negative_slope = 0.01) {
  return LeakyRelu::call(x, negative_slope);
}
inline Tensor elu(const Tensor& x, const Operand& alpha = 1.0) { return Elu::call(x, alpha); }
inline Tensor selu(const Tensor& x) { return Selu::call(x); }
inline Tensor celu(const Tensor& x, const Operand& alpha = 1.0) { return Celu::call(x, alpha); }
inline Tensor hardtanh(const Tensor& x, const Operand& min_val = -1.0, const Operand& max_val = 1.0) {
  return Hardtanh::call(x, min_val, max_val);
}
inline Tensor threshold(const Tensor& x, const Operand& threshold, const Operand& value) {
  return Threshold::call(x, threshold, value);
}

}  // namespace lamella
