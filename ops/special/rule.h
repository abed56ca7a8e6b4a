#pragma once

#include <span>

#include "engine/core/tensor.h"
#include "ops/cpu/tables/special.h"
#include "ops/elementwise/slopes.h"

// Special functions of one number with kernels of their own, most of which compute in double. Half types are computed
// in float32. Their derivatives up to the third are written without cancellation (see Note [Slopes]): power series near
// 0, asymptotic series far from it.

namespace lamella::special {

/// A function and its derivative, as a formula of its argument x and its value y.
struct Rule {
  const char* name;
  cpu::Special function;
  Tensor (*slope)(const Tensor& x, const Tensor& y);
  bool reads_x = true;
  bool reads_y = true;
};

/// Applies a function and records it; x and the result are float32 or float64.
Tensor apply(const Rule& rule, const Tensor& x);

/// Applies an operator's function to x of any dtype.
Tensor call(const Rule& rule, const Tensor& x);

/// Returns a derivative by its chain of formulas; float32 is computed in float64.
inline Tensor slope_in_double(const SlopeChain& chain, const Tensor& x, int order = 1) {
  return lamella::slope(chain, x, order, /*in_double=*/true);
}

/// Rule::slope of a function whose derivatives are a chain of formulas.
template <const SlopeChain& kChain>
Tensor by_chain(const Tensor& x, const Tensor&) {
  return slope_in_double(kChain, x);
}

/// Returns c[0] + c[1] x + ...
Tensor power_series(std::span<const double> c, const Tensor& x);

}  // namespace lamella::special
