#include "ops/linalg/norms.h"

#include <cmath>
#include <limits>

#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/pow.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/where.h"
#include "ops/linalg/decompositions.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"

namespace lamella {
namespace {

/// Returns the root of a sum of powers, with the derivatives of power_or_zero() and root_or_zero(); 0 if a power with a
/// negative exponent is infinite.
Tensor power_norm(const Tensor& magnitudes, const std::optional<Dims>& axis, bool keepdims, double ord) {
  if (ord > 0) return root_or_zero(sum(power_or_zero(magnitudes, ord), axis, keepdims), ord);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor zero = equal(magnitudes, 0);
  const Tensor total = sum(where(zero, kInfinity, pow(where(zero, 1, magnitudes), ord)), axis, keepdims);
  const Tensor none = equal(total, kInfinity);
  return where(none, 0, pow(where(none, 1, total), 1 / ord));
}

}  // namespace

Tensor power_or_zero(const Tensor& x, double p) {
  if (p >= 1 && p == std::floor(p)) return p == 1 ? x : p == 2 ? square(x) : pow(x, p);
  const Tensor zero = equal(x, 0);
  return where(zero, 0, pow(where(zero, 1, x), p));
}

Tensor root_or_zero(const Tensor& x, double p) {
  if (p == 1) return x;
  const Tensor zero = equal(x, 0);
  const Tensor positive = where(zero, 1, x);
  return where(zero, 0, p == 2 ? sqrt(positive) : pow(positive, 1 / p));
}

Tensor LinalgVectorNorm::call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims, double ord) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  // 16-bit floats are computed in float32 and rounded once.
  if (is_floating(x.dtype()) && item_size(x.dtype()) == 2) {
    const Tensor norm = ord == 2 ? root_or_zero(square_sum(x, axis, keepdims, DType::Float32), 2)
                                 : call(cast(x, DType::Float32), axis, keepdims, ord);
    return cast(norm, x.dtype());
  }
  if (ord == 2) return root_or_zero(square_sum(is_complex(x.dtype()) ? abs(x) : x, axis, keepdims), 2);
  const Tensor magnitudes = abs(x);
  if (std::isinf(ord)) return ord > 0 ? max(magnitudes, axis, keepdims) : min(magnitudes, axis, keepdims);
  // The uncounted elements stay connected to the graph, with a gradient of 0.
  if (ord == 0) return sum(where(not_equal(x, 0), 1, magnitudes), axis, keepdims);
  if (ord == 1) return sum(magnitudes, axis, keepdims);
  if (std::isnan(ord)) fail<ValueError>("[linalg_vector_norm] ord: expected a number, got NaN");
  return power_norm(magnitudes, axis, keepdims, ord);
}

Tensor LinalgMatrixNorm::call(const Tensor& x, bool keepdims, std::string_view ord) {
  check_defined(x, info.name);
  if (is_floating(x.dtype()) && item_size(x.dtype()) == 2) {
    return cast(call(cast(x, DType::Float32), keepdims, ord), x.dtype());
  }
  linalg::check_matrices(x, info.name);
  const bool smallest = ord.starts_with('-');
  const auto extreme = [smallest](const Tensor& values) { return smallest ? min(values, -1) : max(values, -1); };
  Tensor norm;
  if (ord == "fro") {
    norm = linalg::vector_norm(x, Dims{-2, -1});
  } else if (ord == "nuc") {
    norm = sum(linalg::svdvals(x), -1);
  } else if (ord == "2" || ord == "-2") {
    norm = extreme(linalg::svdvals(x));
  } else if (ord == "1" || ord == "-1") {
    norm = extreme(sum(abs(x), -2));
  } else if (ord == "inf" || ord == "-inf") {
    norm = extreme(sum(abs(x), -1));
  } else {
    fail<ValueError>("[linalg_matrix_norm] ord: expected 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2, got '", ord, "'");
  }
  if (!keepdims) return norm;
  return expand_dims(expand_dims(norm, -1), -1);
}

}  // namespace lamella
