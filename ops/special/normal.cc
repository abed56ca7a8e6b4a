#include "ops/special/normal.h"

#include <array>
#include <numbers>

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/log.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/special/rule.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"

namespace lamella {
namespace {

using special::apply;
using special::power_series;
using special::Rule;
using special::slope_in_double;

/// Return the derivatives of erfcx and of log_ndtr by their kernels, for float32 or float64.
Tensor erfcx_slope(const Tensor& x);
Tensor log_ndtr_slope(const Tensor& x);

/// Returns the derivatives of exp(x^2) erfc(x) beyond 6 (Abramowitz and Stegun, 7.1.23).
template <int kOrder>
Tensor erfcx_far(const Tensor& x) {
  constexpr int kTerms = 36;
  std::array<double, kTerms> c{};
  double a = std::numbers::inv_sqrtpi;
  for (int k = 0; k < kTerms; ++k) {
    if (k > 0) a *= -(2.0 * k - 1) / 2;
    double term = a;
    for (int m = 0; m < kOrder; ++m) term *= -(2.0 * k + 1 + m);
    c[static_cast<std::size_t>(k)] = term;
  }
  const Tensor u = 1 / x;
  Tensor factor = u;
  for (int m = 0; m < kOrder; ++m) factor = factor * u;
  return factor * power_series(c, square(u));
}
template <int kOrder>
Tensor of_erfcx(const Tensor& x) {
  constexpr double kEnd = 6;
  constexpr double kScale = 2 * std::numbers::inv_sqrtpi;
  const Tensor far = x > kEnd;
  const Tensor z = where(far, 0, x);
  const Tensor y = Erfcx::call(z);
  Tensor near;
  if constexpr (kOrder == 2) near = (2 + 4 * square(z)) * y - 2 * kScale * z;
  if constexpr (kOrder == 3) near = z * (12 + 8 * square(z)) * y - 4 * kScale * (1 + square(z));
  return where(far, erfcx_far<kOrder>(where(far, x, kEnd)), near);
}

/// Returns the derivatives of log(ndtr(x)), which is -t^2 / 2 - log(t) plus a series in t^-2 for t = -x; far below 0 by
/// that series.
template <int kOrder>
Tensor of_log_ndtr(const Tensor& x) {
  constexpr double kEnd = 9;
  constexpr int kTerms = 30;
  // Coefficients of the logarithm of the sum of (-1)^k (2 k - 1)!! v^k.
  std::array<double, kTerms> m{1};
  std::array<double, kTerms> a{};
  for (int k = 1; k < kTerms; ++k) {
    const auto at = static_cast<std::size_t>(k);
    m[at] = -m[at - 1] * (2 * k - 1);
    a[at] = k * m[at];
    for (std::size_t j = 1; j < at; ++j) a[at] -= static_cast<double>(j) * a[j] * m[at - j];
    a[at] /= k;
  }
  std::array<double, kTerms> c{kOrder == 2 ? 1.0 : 2.0};  // term of -log(t)
  for (int k = 1; k < kTerms; ++k) {
    c[static_cast<std::size_t>(k)] = a[static_cast<std::size_t>(k)];
    for (int i = 0; i < kOrder; ++i) c[static_cast<std::size_t>(k)] *= 2 * k + i;
  }
  const Tensor far = x < -kEnd;
  const Tensor u = 1 / where(far, -x, kEnd);
  const Tensor v = square(u);
  const Tensor sum = power_series(c, v);
  const Tensor beyond = kOrder == 2 ? v * sum - 1 : v * u * sum;
  const Tensor z = where(far, 0, x);
  const Tensor y = log_ndtr_slope(z);
  const Tensor bend = where(y == 0, 0, -y * (z + y));
  return where(far, beyond, kOrder == 2 ? bend : where(y == 0, 0, -bend * (z + 2 * y) - y));
}

constexpr SlopeChain kErfcxSlopes{Erfcx::info.name, {erfcx_slope, of_erfcx<2>, of_erfcx<3>}};
constexpr SlopeChain kLogNdtrSlopes{LogNdtr::info.name, {log_ndtr_slope, of_log_ndtr<2>, of_log_ndtr<3>}};

constexpr Rule kErfcxSlope{"erfcx_slope", cpu::Special::ErfcxSlope,
                           [](const Tensor& x, const Tensor&) { return slope_in_double(kErfcxSlopes, x, 2); }, true,
                           false};
constexpr Rule kErfcx{Erfcx::info.name, cpu::Special::Erfcx,
                      [](const Tensor& x, const Tensor&) { return apply(kErfcxSlope, x); }, true, false};
constexpr Rule kNdtri{Ndtri::info.name, cpu::Special::Ndtri,
                      [](const Tensor&, const Tensor& y) { return 2.50662827463100050242 * exp(0.5 * y * y); }, false,
                      true};
constexpr Rule kLogNdtrSlope{"log_ndtr_slope", cpu::Special::LogNdtrSlope,
                             [](const Tensor& x, const Tensor&) { return slope_in_double(kLogNdtrSlopes, x, 2); }, true,
                             false};
constexpr Rule kLogNdtr{LogNdtr::info.name, cpu::Special::LogNdtr,
                        [](const Tensor& x, const Tensor&) { return apply(kLogNdtrSlope, x); }, true, false};

constexpr Rule kLogitSlope{"logit_slope", cpu::Special::LogitSlope,
                           [](const Tensor& x, const Tensor& y) { return (2 * x - 1) * square(y); }};
constexpr Rule kLogit{Logit::info.name, cpu::Special::Logit,
                      [](const Tensor& x, const Tensor&) { return apply(kLogitSlope, x); }, true, false};

Tensor erfcx_slope(const Tensor& x) { return apply(kErfcxSlope, x); }
Tensor log_ndtr_slope(const Tensor& x) { return apply(kLogNdtrSlope, x); }

}  // namespace

Tensor Erfcx::call(const Tensor& x) { return special::call(kErfcx, x); }
Tensor Ndtri::call(const Tensor& p) { return special::call(kNdtri, p); }
Tensor LogNdtr::call(const Tensor& x) { return special::call(kLogNdtr, x); }

Tensor Logit::call(const Tensor& x, const std::optional<double>& eps) {
  Tensor p = as_floating(x, info.name);
  if (eps && *eps > 0.5) {  // the limits are exchanged: the lower one is applied first
    p = where(less(p, *eps), *eps, clip(p, std::nullopt, Scalar(1 - *eps)));
  } else if (eps) {
    p = clip(p, Scalar(*eps), Scalar(1 - *eps));
  }
  // Devices of extensions have kernels for the parts only.
  const bool has_kernel = p.device().is_cpu() || has_device_kernel<&DeviceKernels::special>(p.device());
  return has_kernel ? special::call(kLogit, p) : log(p / (1 - p));
}

}  // namespace lamella
