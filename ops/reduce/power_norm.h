#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// Returns (sum of |x|^p)^(1 / p) along the given axes of a tensor of real numbers, for p neither 0 nor infinite, and
/// right as well where the powers are beyond the range of numbers. Norms of 16-bit floats are float32. For p below 0
/// the norm of elements of which one is 0 is 0. The gradient is 0 where the norm is, and for p below 1 by elements that
/// are 0.
Tensor power_norm(const Tensor& x, const Dims& axes, bool keepdims, double p);

/// Returns x^p for p above 0. The derivatives at x = 0 are 0 if p is not an integer, where those of some order would be
/// infinite.
Tensor power_or_zero(const Tensor& x, double p);
/// Returns x^(1 / p), the root of a sum of powers, with derivatives of 0 where x is 0.
Tensor root_or_zero(const Tensor& x, double p);

}  // namespace lamella
