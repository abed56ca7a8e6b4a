#pragma once

#include <cmath>
#include <cstdint>

#include "ops/cpu/tables/special.h"
#include "ops/simd/hd.h"

// Orthogonal polynomials of one number, the same on every device.

namespace lamella::special {

enum class Family : std::uint8_t {
  ChebyshevT,
  ChebyshevU,
  ChebyshevV,
  ChebyshevW,
  HermiteH,
  HermiteHe,
  LaguerreL,
  LegendreP
};

LM_HD constexpr bool is_chebyshev(Family family) { return family <= Family::ChebyshevW; }

/// Steps of the recurrences: Abramowitz and Stegun, 22.7, and, for p_1, with p_(-1) = 0, 22.4.
using Step = cpu::RecurrenceStep;

LM_HD inline Step step_from(Family family, double k) {
  switch (family) {
    case Family::HermiteH:
      return {2, 0, 2 * k};
    case Family::HermiteHe:
      return {1, 0, k};
    case Family::LaguerreL:
      return {-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)};
    case Family::LegendreP:
      return {(2 * k + 1) / (k + 1), 0, k / (k + 1)};
    case Family::ChebyshevT:
      return {k == 0 ? 1.0 : 2.0, 0, 1};
    case Family::ChebyshevV:
      return {2, k == 0 ? -1.0 : 0.0, 1};
    case Family::ChebyshevW:
      return {2, k == 0 ? 1.0 : 0.0, 1};
    case Family::ChebyshevU:
      return {2, 0, 1};
  }
  return {};
}

/// Returns the step of a family or, if `shifted`, of its polynomials of 2 x - 1, on [0, 1] rather than [-1, 1].
LM_HD inline Step step_from(Family family, double k, bool shifted) {
  const Step step = step_from(family, k);
  return shifted ? Step{2 * step.a, step.b - step.a, step.c} : step;
}

LM_HD inline double value(Family family, double x, std::int64_t n, bool shifted) {
  double last = 0;
  double p = 1;
  for (std::int64_t k = 0; k < n && p == p; ++k) {
    const Step step = step_from(family, static_cast<double>(k), shifted);
    const double next = (step.a * x + step.b) * p - step.c * last;
    last = p;
    p = next;
  }
  return p;
}

/// Returns the derivative of some order from the differentiated recurrences of all orders up to it; `scratch` is memory
/// for two numbers of each.
LM_HD inline double derivative(Family family, double x, std::int64_t n, bool shifted, int order, double* scratch) {
  double* last = scratch;
  double* p = last + order + 1;
  for (int i = 0; i < 2 * (order + 1); ++i) scratch[i] = 0;
  p[0] = 1;
  for (std::int64_t k = 0; k < n && p[order] == p[order]; ++k) {
    const Step step = step_from(family, static_cast<double>(k), shifted);
    for (int i = order; i >= 0; --i) {
      last[i] = (step.a * x + step.b) * p[i] - step.c * last[i];
      if (i > 0) last[i] += i * step.a * p[i - 1];
    }
    double* const next = last;
    last = p;
    p = next;
  }
  return p[order];
}

/// Degree above which Chebyshev's polynomials are computed by their defining formula.
inline constexpr int kHigh = 64;
/// Highest degree that is reached step by step, which takes a tenth of a second.
inline constexpr double kHighestDegree = 1e7;

/// Returns Chebyshev's polynomials by their defining formula, for high degrees and |x| < 1.
LM_HD inline double waves(Family family, double x, double n) {
  const double t = std::acos(x);
  switch (family) {
    case Family::ChebyshevT:
      return std::cos(n * t);
    case Family::ChebyshevU:
      return std::sin((n + 1) * t) / std::sin(t);
    case Family::ChebyshevV:
      return std::cos((n + 0.5) * t) / std::cos(t / 2);
    default:
      return std::sin((n + 0.5) * t) / std::sin(t / 2);
  }
}

/// Returns Chebyshev's polynomials by their defining formula for x >= 1, where the angle is imaginary.
LM_HD inline double growth(Family family, double x, double n) {
  if (std::isinf(x)) return x;
  const double t = std::acosh(x);
  switch (family) {
    case Family::ChebyshevT:
      return std::cosh(n * t);
    case Family::ChebyshevU:
      return t == 0 ? n + 1 : std::sinh((n + 1) * t) / std::sinh(t);
    case Family::ChebyshevV:
      return std::cosh((n + 0.5) * t) / std::cosh(t / 2);
    default:
      return t == 0 ? 2 * n + 1 : std::sinh((n + 0.5) * t) / std::sinh(t / 2);
  }
}

/// Returns waves() or growth() for any x. p(-x) is p(x) or its negative, of the other kind for the third and the
/// fourth.
LM_HD inline double high_chebyshev(Family family, double x, double n) {
  if (!(std::fabs(x) >= 1)) return waves(family, x, n);
  if (x > 0) return growth(family, x, n);
  const Family other = family == Family::ChebyshevV   ? Family::ChebyshevW
                       : family == Family::ChebyshevW ? Family::ChebyshevV
                                                      : family;
  return std::fmod(n, 2) == 0 ? growth(other, -x, n) : -growth(other, -x, n);
}

/// A family of polynomials, on [0, 1] rather than [-1, 1] if shifted, or their derivatives of some order.
struct Polynomial {
  Family family;
  bool shifted = false;
  int order = 0;

  /// True if the polynomial of this degree is computed by its defining formula.
  LM_HD bool by_definition(double degree) const { return is_chebyshev(family) && order == 0 && degree > kHigh; }
  /// Returns the value at x for a degree that is computed by definition or at most kHighestDegree; `scratch` is memory
  /// for 2 (order + 1) numbers.
  LM_HD double at(double x, double n, double* scratch) const {
    const double degree = std::trunc(n);
    if (!(degree >= 0)) return 0;
    if (by_definition(degree)) return high_chebyshev(family, shifted ? 2 * x - 1 : x, degree);
    const auto steps = static_cast<std::int64_t>(degree);
    return order > 0 ? derivative(family, x, steps, shifted, order, scratch) : value(family, x, steps, shifted);
  }
};

}  // namespace lamella::special
