#include "ops/elementwise/composed.h"

#include <cmath>
#include <limits>

#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/complex_forms.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/special.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/support/checks.h"
#include "ops/support/dtype_limits.h"
#include "ops/support/promotion.h"

namespace lamella {
namespace {

constexpr double kRadian = 57.295779513082320877;  // degrees per radian
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Tensor Positive::call(const Tensor& x) {
  check_defined(x, info.name);
  check_dtype(x, Numeric, info.name);
  return x;
}

Tensor Deg2Rad::call(const Tensor& x) { return as_floating(x, info.name) * (1 / kRadian); }
Tensor Rad2Deg::call(const Tensor& x) { return as_floating(x, info.name) * kRadian; }

Tensor Polygamma::call(std::int64_t n, const Tensor& x) {
  constexpr std::int64_t kMost = 170;  // the last whose factorial is a number of float64
  if (n < 0 || n > kMost) fail<ValueError>("[polygamma] n must be from 0 to ", kMost, ", got ", n);
  const Tensor at = as_floating(x, info.name);
  if (n == 0) return digamma(at);
  // In float64, as factor and sum may be beyond the range of x's dtype where the result is not.
  const double factorial = std::tgamma(static_cast<double>(n) + 1);
  const Tensor sums = zeta(static_cast<double>(n) + 1, cast(at, DType::Float64));
  return cast(multiply(sums, n % 2 == 0 ? -factorial : factorial), at.dtype());
}

Tensor IsClose::call(const Operand& a, const Operand& b, double rtol, double atol, bool equal_nan) {
  if (!(rtol >= 0 && atol >= 0))
    fail<ValueError>("[isclose] rtol and atol must not be negative, got ", rtol, " and ", atol);
  const Operand* const operands[] = {&a, &b};
  for (const Operand* operand : operands) {
    if (!operand->is_number()) check_defined(operand->tensor(), info.name);
  }
  const DType dtype = promoted_dtype(operands);
  Tensor same = equal(a, b);
  if (!is_differentiable(dtype) && rtol == 0 && atol == 0) return same;
  // Differences of integers are taken in float64: those of unsigned integers would wrap around.
  const DType wide = is_differentiable(dtype) ? dtype : DType::Float64;
  const Tensor x = in_dtype(a, wide);
  const Tensor y = in_dtype(b, wide);
  const Tensor near = (abs(x - y) <= atol + rtol * abs(y)) & isfinite(y);
  const Tensor close = same | near;
  return equal_nan ? close | (isnan(x) & isnan(y)) : close;
}

Tensor NanToNum::call(const Tensor& x, double nan, const std::optional<double>& posinf,
                      const std::optional<double>& neginf) {
  check_defined(x, info.name);
  if (!is_differentiable(x.dtype())) return clone(x);
  if (is_complex(x.dtype())) {
    return make_complex(NanToNum::call(contiguous(real(x)), nan, posinf, neginf),
                        NanToNum::call(contiguous(imag(x)), nan, posinf, neginf));
  }
  const double largest = float_limits(x.dtype()).max;
  const double above = posinf.value_or(largest);
  const double below = neginf.value_or(-largest);
  // Infinities are first replaced with values of their own sign; a replacement of the other sign, or another magnitude,
  // is written afterwards.
  Tensor result = replace_nonfinite(x, nan, std::abs(above));
  if (std::signbit(above)) result = where(equal(x, kInfinity), above, result);
  return below == -std::abs(above) ? result : where(equal(x, -kInfinity), below, result);
}

}  // namespace lamella
