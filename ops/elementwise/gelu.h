#pragma once

#include <string_view>

#include "ops/elementwise/erf.h"
#include "ops/elementwise/sigmoid.h"
#include "ops/elementwise/slopes.h"
#include "ops/elementwise/tanh.h"

namespace lamella {

/// Returns the derivative of x Phi(x): Phi(x) + x phi(x).
template <class X>
LM_HD constexpr X gelu_slope(const X& x) {
  const X near = detail::within(x, 40);
  return 0.5 * erfc(-0.70710678118654752440 * x) + 0.39894228040143267794 * near * exp(-0.5 * near * near);
}
Tensor gelu_slope(const Tensor& x);

/// Returns the derivative of x sigmoid(z) with z = sqrt(8 / pi) (x + 0.044715 x^3); the sigmoid rounds to 0 or 1 for
/// |x| above 30.
template <class X>
LM_HD constexpr X gelu_tanh_slope(const X& x) {
  const X near = detail::within(x, 30);
  const X square_of = near * near;
  const X z = 1.59576912160573071176 * near * (1 + 0.044715 * square_of);
  return sigmoid(z) + near * (1.59576912160573071176 * (1 + 0.134145 * square_of)) * sigmoid_slope(z);
}
Tensor gelu_tanh_slope(const Tensor& x);

/// x times the distribution function of the standard normal distribution at x (Hendrycks and Gimpel, 2016, "Gaussian
/// Error Linear Units").
struct GeluErf : Unary<GeluErf> {
  static constexpr OpInfo info{
      .name = "gelu_erf",
      .doc = "x * Phi(x), with the distribution function Phi of the standard normal distribution.",
      .reference = "0.5 * x * (1 + sp.erf(x / np.sqrt(2)))",
      .dtypes = Floating,
      .method = false};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr X forward(const X& x) {
    X y = gelu(x);
    if constexpr (simd::FloatOperand<X>) {
      // Below -2.5, 1 + erf cancels; erfc does not.
      const auto low = x < -2.5;
      if (any(low)) return where(low, 0.5 * maximum(x, -100) * erfc(-0.70710678118654752440 * x), y);
    }
    return y;
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * gelu_slope(x);
  }
};

/// The tanh approximation of gelu (Hendrycks and Gimpel, 2016). (1 + tanh(z)) / 2 is computed as sigmoid(2 z), which
/// keeps its precision below 0.
struct GeluTanh : Unary<GeluTanh> {
  static constexpr OpInfo info{
      .name = "gelu_tanh",
      .doc = "The approximation of gelu by tanh: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).",
      .reference = "0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))",
      .dtypes = Floating,
      .method = false};
  static constexpr bool kTakesLong = true;
  template <class X>
  LM_HD static constexpr X forward(const X& x) {
    return maximum(x, -detail::kFar) * sigmoid(1.59576912160573071176 * (x + 0.044715 * x * x * x));
  }
  template <class X>
  LM_HD static constexpr X backward(const X& x, const X&, const X& dy) {
    return dy * gelu_tanh_slope(x);
  }
};

struct Gelu {
  static constexpr OpInfo info{.name = "gelu",
                               .doc = "The Gaussian error linear unit, exact or with approximate='tanh'.",
                               .parameters = "x, /, approximate='none'",
                               .example = "gelu(full([2], 0.5), approximate='tanh')",
                               .dtypes = Floating,
                               .in_place = true};
  static Tensor call(const Tensor& x, std::string_view approximate = "none");
};

inline Tensor gelu(const Tensor& x, std::string_view approximate = "none") { return Gelu::call(x, approximate); }

}  // namespace lamella
