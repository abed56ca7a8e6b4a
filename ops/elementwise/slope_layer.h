#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// The derivatives of a unary operator, from the first order on, as formulas on tensors that are accurate to the last
/// digits.
struct SlopeChain {
  static constexpr int kOrders = 3;
  using Formula = Tensor (*)(const Tensor& x);

  const char* name;  ///< name of the operator
  Formula orders[kOrders];
};

/// Returns the derivative of this order at x, recorded so that its own derivative is the next order. 16-bit floats are
/// computed in float32 and rounded once; if `in_double`, float32 is computed in float64 likewise.
Tensor slope(const SlopeChain& chain, const Tensor& x, int order = 1, bool in_double = false);

/// Returns 16-bit floats cast to float32; other tensors unchanged.
Tensor in_full_precision(const Tensor& x);

/// Returns the derivative of sin(z) / z of this order by its power series, for |z| <= 2.
Tensor sine_ratio_series(const Tensor& z, int order);
/// Returns the derivative of sin(z) / z of this order for any real z.
Tensor sine_ratio_derivative(const Tensor& z, int order);

}  // namespace lamella
