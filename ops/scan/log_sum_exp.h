#pragma once

#include <cmath>
#include <complex>

#include "ops/simd/hd.h"

// The step of logcumsumexp, the same on every device.

namespace lamella {

/// Returns log(exp(a) + exp(b)) without overflow.
LM_HD inline double log_add_exp(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  const double high = a < b ? b : a;
  return std::isinf(high) ? high : high + std::log1p(std::exp((a < b ? a : b) - high));
}

/// Returns log(1 + z) for |z| up to 1.
LM_HD inline std::complex<double> log_of_next(double re, double im) {
  // |1 + z|^2 - 1, or the square itself if the subtraction would cancel.
  const double magnitude = re < -0.5 ? std::log((1 + re) * (1 + re) + im * im) : std::log1p(re * (2 + re) + im * im);
  return {0.5 * magnitude, std::atan2(im, 1 + re)};
}

LM_HD inline std::complex<double> log_add_exp(std::complex<double> a, std::complex<double> b) {
  const bool ahead = a.real() >= b.real();
  const std::complex<double> high = ahead ? a : b;
  const std::complex<double> low = ahead ? b : a;
  if (std::isinf(high.real()) && !std::isnan(a.real()) && !std::isnan(b.real())) return high;
  const double size = std::exp(low.real() - high.real());
  const double angle = low.imag() - high.imag();
  // exp(-infinity) is 0, of any angle.
  const std::complex<double> log =
      size == 0 ? std::complex<double>() : log_of_next(size * std::cos(angle), size * std::sin(angle));
  return {high.real() + log.real(), high.imag() + log.imag()};
}

}  // namespace lamella
