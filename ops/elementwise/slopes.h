#pragma once

#include <array>

#include "engine/core/tensor.h"
#include "ops/simd/hd.h"

// Derivatives shared by gradient formulas, written without cancellation, overflow or premature underflow.

// Note [Slopes]
// A gradient formula may be accurate to the last digit while its own derivative, taken by the rules for sums and
// products, cancels: sigmoid(x) * sigmoid(-x) has the derivative s'(x) s(-x) - s(x) s'(-x), which is 0 near 0. In such
// cases the factor of dy is a named function beside the operator. In a kernel it is a template. On tensors, in a second
// derivative, it is a layer with formulas for its own derivatives, up to the operator's third (SlopeChain); higher
// orders are derived from the last of them.

namespace lamella {

namespace detail {
/// A finite stand-in for larger arguments of functions that have reached their limit, so that infinity times 0 does not
/// occur.
inline constexpr double kFar = 1000;

template <class X>
LM_HD constexpr X within(const X& x, double bound) {
  return maximum(minimum(x, bound), -bound);
}
}  // namespace detail

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

/// Returns slope() of a real x; of a complex one, whose derivatives are composed, what `composed` returns.
template <class Composed>
Tensor slope_of(const SlopeChain& chain, const Tensor& x, const Composed& composed) {
  return is_complex(x.dtype()) ? composed() : slope(chain, x);
}

/// Returns the derivative of an operator with two operands along their tangents, one of which may be undefined (zero).
Tensor along(const std::array<Tensor, 2>& slopes, const Tensor& da, const Tensor& db);

/// Returns x limited to [-bound, bound].
Tensor limited(const Tensor& x, double bound = detail::kFar);

/// Returns 16-bit floats cast to float32; other tensors unchanged.
Tensor in_full_precision(const Tensor& x);

}  // namespace lamella
