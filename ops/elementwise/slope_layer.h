#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// The derivatives of an operator of one number, from the first on, as formulas on tensors that hold to the last
/// digits.
struct SlopeChain {
  static constexpr int kOrders = 3;
  using Formula = Tensor (*)(const Tensor& x);

  const char* name;  ///< the operator's
  Formula orders[kOrders];
};

/// The derivative of this order at x, recorded so that its derivative is that of the next order. 16-bit numbers are
/// computed in float32, and rounded once; `in_double`: so are those of float32, in float64.
Tensor slope(const SlopeChain& chain, const Tensor& x, int order = 1, bool in_double = false);

/// 16-bit numbers in float32, others as they are.
Tensor in_full_precision(const Tensor& x);

/// The derivative of sin(z) / z of this order by its power series, for |z| <= 2.
Tensor sine_ratio_series(const Tensor& z, int order);
/// The same for any real z.
Tensor sine_ratio_derivative(const Tensor& z, int order);

}  // namespace lamella
