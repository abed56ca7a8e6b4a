#include "ops/elementwise/rounding.h"

#include <algorithm>
#include <cmath>

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/support/checks.h"

namespace lamella {

Tensor Round::call(const Tensor& x, std::int64_t decimals) {
  if (decimals == 0) return Unary<Round>::call(x);
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  if (is_integral(x.dtype())) {
    if (decimals > 0) return clone(x);
    return cast(call(cast(x, DType::Float64), decimals), x.dtype());
  }
  // If the power of ten overflows, rounding changes nothing (decimals > 0) or gives 0.
  const double power = std::pow(
      10.0, static_cast<double>(std::min<std::int64_t>(std::abs(std::max<std::int64_t>(decimals, -400)), 400)));
  if (std::isinf(power)) return decimals > 0 ? multiply(x, 1) : multiply(x, 0);
  if (decimals < 0) return multiply(call(divide(x, power), 0), power);
  const Tensor scaled = multiply(x, power);
  return where(isfinite(scaled), divide(call(scaled, 0), power), x.detach());
}

}  // namespace lamella
