#include "ops/special/bessel.h"

#include <array>
#include <cmath>
#include <numbers>

#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/parts.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/sinc.h"
#include "ops/elementwise/square.h"
#include "ops/elementwise/where.h"
#include "ops/special/rule.h"

namespace lamella {
namespace {

using special::apply;
using special::by_chain;
using special::power_series;
using special::Rule;
using special::slope_in_double;

/// Return the derivatives of scaled functions by their kernels, for float32 or float64.
Tensor i0e_slope(const Tensor& x);
Tensor i1e_slope(const Tensor& x);
Tensor k0e_slope(const Tensor& x);
Tensor k1e_slope(const Tensor& x);

/// Returns the derivative of this order of the sum of sign^m (x / 2)^(2 m) / m!^2, for |x| <= 2: of J0 (sign -1) or I0
/// (sign 1).
template <int kOrder>
Tensor bessel_series(const Tensor& x, double sign) {
  constexpr int kTerms = 15;
  std::array<double, kTerms> c{};
  for (int i = 0; i < kTerms; ++i) {
    const int m = i + (kOrder + 1) / 2;
    double term = 1;
    for (int k = 1; k <= m; ++k) term *= sign / (4.0 * k * k);
    for (int k = 0; k < kOrder; ++k) term *= 2 * m - k;
    c[static_cast<std::size_t>(i)] = term;
  }
  const Tensor sum = power_series(c, square(x));
  return kOrder % 2 == 0 ? sum : sum * x;
}

/// Returns the derivatives of a Bessel function of order 0 from its values f0 and those of order 1, f1 (Abramowitz and
/// Stegun, 9.1.28, 9.1.30, 9.6.27, 9.6.28). `sign` is -1 for J and Y, 1 for I.
template <int kOrder>
Tensor from_values(const Tensor& x, const Tensor& f0, const Tensor& f1, double sign) {
  const Tensor share = f1 / x;
  if constexpr (kOrder == 1) return sign * f1;
  if constexpr (kOrder == 2) return sign * (f0 - share);
  if constexpr (kOrder == 3) return f1 - sign * (f0 - 2 * share) / x;
  if constexpr (kOrder == 4) return (f0 - 2 * share) * (1 + 3 * sign / square(x));
}

/// Returns the derivatives of a regular Bessel function, J or I, with its power series near 0.
template <int kOrder>
Tensor regular(const Tensor& x, const Tensor& f0, const Tensor& f1, double sign) {
  if constexpr (kOrder == 1) return sign * f1;
  const Tensor small = abs(x) <= 2;
  const Tensor far = from_values<kOrder>(where(small, 2, x), f0, f1, sign);
  return where(small, bessel_series<kOrder>(where(small, x, 0), sign), far);
}

template <int kOrder>
Tensor of_j0(const Tensor& x) {
  return regular<kOrder>(x, BesselJ0::call(x), BesselJ1::call(x), -1);
}
template <int kOrder>
Tensor of_i0(const Tensor& x) {
  const Tensor f0 = I0::call(x);
  const Tensor endless = isinf(f0);
  const Tensor limit = kOrder % 2 == 0 ? f0 : f0 * sign(x);
  return where(endless, limit, regular<kOrder>(x, where(endless, 0, f0), where(endless, 0, I1::call(x)), 1));
}
template <int kOrder>
Tensor of_y0(const Tensor& x) {
  const Tensor f0 = BesselY0::call(x);
  const Tensor f1 = BesselY1::call(x);
  if constexpr (kOrder == 1) return -f1;
  const Tensor share = f1 / x;  // which outgrows f0 near 0
  return where(isinf(share), kOrder % 2 == 0 ? share : -share, from_values<kOrder>(x, f0, f1, -1));
}

/// Number of terms of the asymptotic series of exp(-x) I(x) and exp(x) K(x), and the x from which they suffice.
constexpr int kFarTerms = 20;
constexpr double kFarBessel = 25;

/// Returns the derivative of this order of the sum over k of sign^k a_k(nu) x^(-k - 1/2), for x > kFarBessel
/// (Abramowitz and Stegun, 9.7.1, 9.7.2).
template <int kOrder>
Tensor bessel_far(const Tensor& x, int nu, double sign) {
  std::array<double, kFarTerms> c{};
  double a = 1;
  for (int k = 0; k < kFarTerms; ++k) {
    if (k > 0) a *= sign * (4.0 * nu * nu - (2.0 * k - 1) * (2.0 * k - 1)) / (8.0 * k);
    double term = a;
    for (int m = 0; m < kOrder; ++m) term *= -(k + m + 0.5);
    c[static_cast<std::size_t>(k)] = term;
  }
  const Tensor u = 1 / x;
  Tensor factor = rsqrt(x);
  for (int m = 0; m < kOrder; ++m) factor = factor * u;
  return factor * power_series(c, u);
}

/// Returns a derivative, of order 2 or 3, of exp(-|x|) I(x) for the order 0 or 1 of I, whose scaled derivatives d are
/// those of I0.
template <int kOrder, int kNu>
Tensor of_scaled_i(const Tensor& x) {
  const Tensor f0 = I0e::call(x);
  const Tensor f1 = I1e::call(x);
  const Tensor s = sign(x);
  const Tensor size_of = abs(x);
  const Tensor small = size_of <= 2;
  const auto derivative = [&]<int k>() {
    const Tensor series = bessel_series<k>(where(small, x, 0), 1) * exp(-size_of);
    return where(small, series, from_values<k>(where(small, 2, x), f0, f1, 1));
  };
  Tensor d0, d1, d2, d3;
  if constexpr (kNu == 0) {
    d0 = f0;
    d1 = f1;
    if constexpr (kOrder >= 2) d2 = derivative.template operator()<2>();
    if constexpr (kOrder >= 3) d3 = derivative.template operator()<3>();
  } else {
    d0 = f1;
    d1 = derivative.template operator()<2>();
    if constexpr (kOrder >= 2) d2 = derivative.template operator()<3>();
    if constexpr (kOrder >= 3) d3 = derivative.template operator()<4>();
  }
  Tensor near;
  if constexpr (kOrder == 2) near = d2 - 2 * s * d1 + square(s) * d0;
  if constexpr (kOrder == 3) near = d3 - 3 * s * d2 + 3 * square(s) * d1 - s * d0;
  const Tensor far = size_of > kFarBessel;
  Tensor beyond = std::sqrt(0.5 / std::numbers::pi) * bessel_far<kOrder>(where(far, size_of, kFarBessel), kNu, -1);
  if constexpr ((kOrder + kNu) % 2 == 1) beyond = beyond * s;
  return where(far, beyond, near);
}

/// Returns the second and third derivatives of K0 and K1 times exp(x); near 0 the highest derivative of K dominates.
template <int kOrder, int kNu>
Tensor of_scaled_k(const Tensor& x) {
  const Tensor k0 = ScaledModifiedBesselK0::call(x);
  const Tensor k1 = ScaledModifiedBesselK1::call(x);
  const Tensor share = k1 / x;
  // Scaled derivatives of K0.
  const Tensor d1 = -k1;
  const Tensor d2 = k0 + share;
  const Tensor d3 = -(k1 + (2 * share + k0) / x);
  const Tensor d4 = k0 + 2 * share + (3 * k0 + 6 * share) / x / x;
  std::array<Tensor, 4> d{k0, d1, d2, d3};
  if constexpr (kNu == 1) d = {k1, -d2, -d3, -d4};
  Tensor near;
  if constexpr (kOrder == 2) near = d[2] + 2 * d[1] + d[0];
  if constexpr (kOrder == 3) near = d[3] + 3 * d[2] + 3 * d[1] + d[0];
  const Tensor& highest = d[kOrder];
  const Tensor far = x > kFarBessel;
  const Tensor beyond = std::sqrt(0.5 * std::numbers::pi) * bessel_far<kOrder>(where(far, x, kFarBessel), kNu, 1);
  return where(far, beyond, where(isinf(highest), highest, near));
}

constexpr SlopeChain kI0Slopes{I0::info.name, {of_i0<1>, of_i0<2>, of_i0<3>}};
constexpr SlopeChain kI1Slopes{I1::info.name, {of_i0<2>, of_i0<3>, of_i0<4>}};
constexpr SlopeChain kI0eSlopes{I0e::info.name, {i0e_slope, of_scaled_i<2, 0>, of_scaled_i<3, 0>}};
constexpr SlopeChain kI1eSlopes{I1e::info.name, {i1e_slope, of_scaled_i<2, 1>, of_scaled_i<3, 1>}};
constexpr SlopeChain kK0eSlopes{ScaledModifiedBesselK0::info.name, {k0e_slope, of_scaled_k<2, 0>, of_scaled_k<3, 0>}};
constexpr SlopeChain kK1eSlopes{ScaledModifiedBesselK1::info.name, {k1e_slope, of_scaled_k<2, 1>, of_scaled_k<3, 1>}};
constexpr SlopeChain kJ0Slopes{BesselJ0::info.name, {of_j0<1>, of_j0<2>, of_j0<3>}};
constexpr SlopeChain kJ1Slopes{
    BesselJ1::info.name,
    {[](const Tensor& x) { return -of_j0<2>(x); }, [](const Tensor& x) { return -of_j0<3>(x); },
     [](const Tensor& x) { return -of_j0<4>(x); }}};
constexpr SlopeChain kY0Slopes{BesselY0::info.name, {of_y0<1>, of_y0<2>, of_y0<3>}};
constexpr SlopeChain kY1Slopes{
    BesselY1::info.name,
    {[](const Tensor& x) { return -of_y0<2>(x); }, [](const Tensor& x) { return -of_y0<3>(x); },
     [](const Tensor& x) { return -of_y0<4>(x); }}};
constexpr SlopeChain kSphericalJ0Slopes{SphericalBesselJ0::info.name,
                                        {[](const Tensor& x) { return sine_ratio_derivative(x, 1); },
                                         [](const Tensor& x) { return sine_ratio_derivative(x, 2); },
                                         [](const Tensor& x) { return sine_ratio_derivative(x, 3); }}};

// Derivatives of Bessel functions: Abramowitz and Stegun, 9.6.27, 9.6.28.

constexpr Rule kI0{I0::info.name, cpu::Special::I0, by_chain<kI0Slopes>, true, false};
constexpr Rule kI0eSlope{"i0e_slope", cpu::Special::I0eSlope,
                         [](const Tensor& x, const Tensor&) { return slope_in_double(kI0eSlopes, x, 2); }, true, false};
constexpr Rule kI0e{I0e::info.name, cpu::Special::I0e, [](const Tensor& x, const Tensor&) { return i0e_slope(x); },
                    true, false};
constexpr Rule kI1{I1::info.name, cpu::Special::I1, by_chain<kI1Slopes>, true, false};
constexpr Rule kI1eSlope{"i1e_slope", cpu::Special::I1eSlope,
                         [](const Tensor& x, const Tensor&) { return slope_in_double(kI1eSlopes, x, 2); }, true, false};
constexpr Rule kI1e{I1e::info.name, cpu::Special::I1e, [](const Tensor& x, const Tensor&) { return i1e_slope(x); },
                    true, false};

constexpr Rule kK0{ModifiedBesselK0::info.name, cpu::Special::K0,
                   [](const Tensor& x, const Tensor&) { return -ModifiedBesselK1::call(x); }, true, false};
constexpr Rule kK1{ModifiedBesselK1::info.name, cpu::Special::K1,
                   [](const Tensor& x, const Tensor& y) { return -ModifiedBesselK0::call(x) - y / x; }};
constexpr Rule kK0eSlope{"scaled_modified_bessel_k0_slope", cpu::Special::K0eSlope,
                         [](const Tensor& x, const Tensor&) { return slope_in_double(kK0eSlopes, x, 2); }, true, false};
constexpr Rule kK0e{ScaledModifiedBesselK0::info.name, cpu::Special::K0e,
                    [](const Tensor& x, const Tensor&) { return k0e_slope(x); }, true, false};
constexpr Rule kK1eSlope{"scaled_modified_bessel_k1_slope", cpu::Special::K1eSlope,
                         [](const Tensor& x, const Tensor&) { return slope_in_double(kK1eSlopes, x, 2); }, true, false};
constexpr Rule kK1e{ScaledModifiedBesselK1::info.name, cpu::Special::K1e,
                    [](const Tensor& x, const Tensor&) { return k1e_slope(x); }, true, false};

constexpr Rule kJ0{BesselJ0::info.name, cpu::Special::J0, by_chain<kJ0Slopes>, true, false};
constexpr Rule kJ1{BesselJ1::info.name, cpu::Special::J1, by_chain<kJ1Slopes>, true, false};
constexpr Rule kY0{BesselY0::info.name, cpu::Special::Y0, by_chain<kY0Slopes>, true, false};
constexpr Rule kY1{BesselY1::info.name, cpu::Special::Y1, by_chain<kY1Slopes>, true, false};

constexpr Rule kSphericalJ1{"spherical_bessel_j1", cpu::Special::SphericalJ1,
                            [](const Tensor& x, const Tensor&) { return -slope_in_double(kSphericalJ0Slopes, x, 2); },
                            true, false};
constexpr Rule kSphericalJ0{SphericalBesselJ0::info.name, cpu::Special::SphericalJ0,
                            [](const Tensor& x, const Tensor&) { return -apply(kSphericalJ1, x); }, true, false};

/// Airy's equation: the second derivative is x Ai(x).
constexpr Rule kAiryAiSlope{"airy_ai_slope", cpu::Special::AiryAiSlope,
                            [](const Tensor& x, const Tensor&) { return x * AiryAi::call(x); }, true, false};
constexpr Rule kAiryAi{AiryAi::info.name, cpu::Special::AiryAi,
                       [](const Tensor& x, const Tensor&) { return apply(kAiryAiSlope, x); }, true, false};

Tensor i0e_slope(const Tensor& x) { return apply(kI0eSlope, x); }
Tensor i1e_slope(const Tensor& x) { return apply(kI1eSlope, x); }
Tensor k0e_slope(const Tensor& x) { return apply(kK0eSlope, x); }
Tensor k1e_slope(const Tensor& x) { return apply(kK1eSlope, x); }

}  // namespace

Tensor I0::call(const Tensor& x) { return special::call(kI0, x); }
Tensor I0e::call(const Tensor& x) { return special::call(kI0e, x); }
Tensor I1::call(const Tensor& x) { return special::call(kI1, x); }
Tensor I1e::call(const Tensor& x) { return special::call(kI1e, x); }
Tensor ModifiedBesselK0::call(const Tensor& x) { return special::call(kK0, x); }
Tensor ModifiedBesselK1::call(const Tensor& x) { return special::call(kK1, x); }
Tensor ScaledModifiedBesselK0::call(const Tensor& x) { return special::call(kK0e, x); }
Tensor ScaledModifiedBesselK1::call(const Tensor& x) { return special::call(kK1e, x); }
Tensor BesselJ0::call(const Tensor& x) { return special::call(kJ0, x); }
Tensor BesselJ1::call(const Tensor& x) { return special::call(kJ1, x); }
Tensor BesselY0::call(const Tensor& x) { return special::call(kY0, x); }
Tensor BesselY1::call(const Tensor& x) { return special::call(kY1, x); }
Tensor SphericalBesselJ0::call(const Tensor& x) { return special::call(kSphericalJ0, x); }
Tensor AiryAi::call(const Tensor& x) { return special::call(kAiryAi, x); }

}  // namespace lamella
