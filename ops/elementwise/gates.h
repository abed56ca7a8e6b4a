#pragma once

#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/sigmoid.h"
#include "ops/elementwise/slopes.h"
#include "ops/elementwise/where.h"
#include "ops/simd/complex.h"

// Units that return x times a gate that grows with x, and gates alone.

namespace lamella {

/// Returns the derivative of x sigmoid(x).
template <class X>
LM_HD constexpr X silu_slope(const X& x) {
  const X s = sigmoid(x);
  if constexpr (simd::kIsComplexOperand<X>) {
    return s * (1 + x * (1 - s));
  } else {
    return s + detail::within(x, detail::kFar) * sigmoid_slope(x);
  }
}
Tensor silu_slope(const Tensor& x);

/// Returns the derivative of x tanh(log(1 + exp(x))). With e = exp(-|x|), tanh and its derivative are quotients of
/// polynomials.
template <class X>
LM_HD constexpr X mish_slope(const X& x) {
  const X e = exp(-abs(x));
  const X one = (1 + e) * (1 + e);
  const auto above = x > 0;
  const X sum = where(above, one + e * e, one + 1);
  const X gate = where(above, 1 + 2 * e, e * (e + 2)) / sum;
  const X rest = where(above, e * e, 1) * (4 * one) / (sum * sum);  // 1 - gate^2
  return gate + detail::within(x, detail::kFar) * rest * (where(above, 1, e) / (1 + e));
}
Tensor mish_slope(const Tensor& x);

struct Silu : Unary<Silu> {
  static constexpr OpInfo info{.name = "silu",
                               .doc = "x * sigmoid(x), also called swish (Elfwing et al., 2017).",
                               .reference = "x / (1 + np.exp(-x))",
                               .dtypes = Floating | Complex,
                               .method = false};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr X forward(const X& x) {
    if constexpr (simd::kIsComplexOperand<X>) {
      return x * sigmoid(x);
    } else {
      return maximum(x, -detail::kFar) * sigmoid(x);  // avoids minus infinity times 0, which is NaN
    }
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * silu_slope(x);
  }
};

/// tanh(log(1 + e)) is n / (n + 2) with n = e (e + 2), so one exponential suffices. Above 20 it rounds to 1.
struct Mish : Unary<Mish> {
  static constexpr OpInfo info{.name = "mish",
                               .doc = "x * tanh(log(1 + exp(x))) (Misra, 2019).",
                               .reference = "x * np.tanh(np.logaddexp(0, x))",
                               .dtypes = Floating,
                               .method = false};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr X forward(const X& x) {
    const X e = exp(minimum(x, 20));
    const X n = e * (e + 2);
    return maximum(x, -detail::kFar) * (n / (n + 2));
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * mish_slope(x);
  }
};

struct Hardsigmoid : Unary<Hardsigmoid> {
  static constexpr OpInfo info{.name = "hardsigmoid",
                               .doc = "x / 6 + 1 / 2 limited to [0, 1]. At the bounds, -3 and 3, the derivative is 0.",
                               .reference = "np.minimum(np.maximum(x + 3, 0), 6) / 6",
                               .dtypes = Floating,
                               .sample_low = -5,
                               .sample_high = 5,
                               .kinks = {-3.0, 3.0, __builtin_nan("")},
                               .method = false};
  template <class X>
  LM_HD static constexpr X forward(const X& x) {
    return minimum(maximum(x + 3, 0), 6) / 6;
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return where((x > -3) & (x < 3), dy / 6, 0);
  }
};

struct Hardswish : Unary<Hardswish> {
  static constexpr OpInfo info{.name = "hardswish",
                               .doc = "x * hardsigmoid(x) (Howard et al., 2019). The derivative is 0 at -3 and 1 at 3.",
                               .reference = "x * np.minimum(np.maximum(x + 3, 0), 6) / 6",
                               .dtypes = Floating,
                               .sample_low = -5,
                               .sample_high = 5,
                               .kinks = {-3.0, 3.0, __builtin_nan("")},
                               .method = false};
  template <class X>
  LM_HD static constexpr X forward(const X& x) {
    return maximum(x, -3) * (minimum(maximum(x + 3, 0), 6) / 6);
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return where(x <= -3, 0, where(x < 3, dy * (x / 3 + 0.5), dy));
  }
};

inline Tensor silu(const Tensor& x) { return Silu::call(x); }
inline Tensor mish(const Tensor& x) { return Mish::call(x); }
inline Tensor hardsigmoid(const Tensor& x) { return Hardsigmoid::call(x); }
inline Tensor hardswish(const Tensor& x) { return Hardswish::call(x); }

}  // namespace lamella
