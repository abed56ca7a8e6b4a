#pragma once

#include "ops/elementwise/slope_layer.h"

// Derivatives of special functions up to the third, without cancellation: power series near 0, asymptotic series far
// from it. float32 is computed in float64. See Note [Slopes].

namespace lamella::special {

extern const SlopeChain kI0, kI1, kI0e, kI1e;
extern const SlopeChain kK0e, kK1e;
extern const SlopeChain kJ0, kJ1, kY0, kY1;
extern const SlopeChain kSphericalJ0;
extern const SlopeChain kErfcx;
/// The derivatives from the second order on; the first has a kernel.
extern const SlopeChain kLogNdtr;

/// Returns the derivative of log_ndtr by its kernel, for float32 or float64.
Tensor log_ndtr_slope(const Tensor& x);

inline Tensor slope(const SlopeChain& chain, const Tensor& x, int order = 1) {
  return lamella::slope(chain, x, order, /*in_double=*/true);
}

}  // namespace lamella::special
