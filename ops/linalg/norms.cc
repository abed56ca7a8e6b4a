#include "ops/linalg/norms.h"

#include <cmath>

#include "ops/elementwise/abs.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/linalg/decompositions.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/power_norm.h"
#include "ops/reduce/sum.h"
#include "ops/shape/reshape.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"

namespace lamella {
Tensor LinalgVectorNorm::call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims, double ord) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  const bool is_power = std::isfinite(ord) && ord != 0 && ord != 1;
  // 16-bit floats are computed in float32 and rounded once.
  if (is_half(x.dtype()) && !(ord == 2)) return cast(call(cast(x, DType::Float32), axis, keepdims, ord), x.dtype());
  if (ord == 2 && !is_complex(x.dtype())) {
    const Tensor norm = power_norm(x, normalize_axes_or_scalar(x, axis, info.name), keepdims, ord);
    return cast(norm, x.dtype());
  }
  const Tensor magnitudes = abs(x);
  if (is_power) return power_norm(magnitudes, normalize_axes_or_scalar(x, axis, info.name), keepdims, ord);
  if (std::isinf(ord)) return ord > 0 ? max(magnitudes, axis, keepdims) : min(magnitudes, axis, keepdims);
  // The uncounted elements stay connected to the graph, with a gradient of 0.
  if (ord == 0) return sum(where(not_equal(x, 0), 1, magnitudes), axis, keepdims);
  if (ord == 1) return sum(magnitudes, axis, keepdims);
  fail<ValueError>("[linalg_vector_norm] ord: expected a number, got NaN");
}

Tensor LinalgMatrixNorm::call(const Tensor& x, bool keepdims, std::string_view ord) {
  check_defined(x, info.name);
  if (is_half(x.dtype())) {
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
