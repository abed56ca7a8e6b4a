#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "ops/simd/hd.h"

namespace lamella::fft {

/// A point of the unit circle.
struct Turn {
  double cosine;
  double sine;
};

/// Returns cos and sin of 2 pi k / n for k >= 0, computed from an angle within an eighth of a turn, where the rounding
/// of pi is negligible.
LM_HD inline Turn turn(std::int64_t k, std::int64_t n) {
  using std::cos;
  using std::sin;
  const double step = 2 * std::numbers::pi / static_cast<double>(n);
  k %= n;
  if (8 * k <= n) return {cos(static_cast<double>(k) * step), sin(static_cast<double>(k) * step)};
  if (8 * k <= 3 * n) {  // near a quarter turn: sin and cos are exchanged
    const double angle = static_cast<double>(n - 4 * k) * step / 4;
    return {sin(angle), cos(angle)};
  }
  if (8 * k <= 5 * n) {
    const double angle = static_cast<double>(n - 2 * k) * step / 2;
    return {-cos(angle), sin(angle)};
  }
  if (8 * k <= 7 * n) {
    const double angle = static_cast<double>(3 * n - 4 * k) * step / 4;
    return {-sin(angle), -cos(angle)};
  }
  const double angle = static_cast<double>(n - k) * step;
  return {cos(angle), -sin(angle)};
}

}  // namespace lamella::fft
