#pragma once

#include <bit>
#include <limits>

#include "ops/simd/native_everywhere.h"

/// The logarithm of the gamma function.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {
namespace native_math {

/// log|gamma(a)| to an absolute error of some 1e-14, for values of floats, where that is less than a rounding:
/// reflected below 0, raised by 8 from below 8 by gamma(x + 1) = x gamma(x), and there Stirling's series (Abramowitz
/// and Stegun, 6.1.17, 6.1.15, 6.1.41).
inline F64 lgamma_of_floats(F64 a) {
  const F64 half = splat<F64>(0.5);
  const F64 one = splat<F64>(1.0);
  const F64 infinity = splat<F64>(std::numeric_limits<double>::infinity());
  const auto below = a < splat<F64>(0.0);
  F64 x = below ? one - a : a;
  // x (x + 1) ... (x + 7): the factors from both ends have x (x + 7) and an integer as their products.
  const auto small = x < splat<F64>(8.0);
  const F64 ends = x * (x + splat<F64>(7.0));
  const F64 eight = ends * (ends + splat<F64>(6.0)) * ((ends + splat<F64>(10.0)) * (ends + splat<F64>(12.0)));
  const F64 product = small ? eight : one;
  x = small ? x + splat<F64>(8.0) : x;
  const F64 w = one / (x * x);
  // B_2k / (2k (2k - 1))
  F64 series = splat<F64>(-691.0 / 360360);
  for (const double term : {1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12})
    series = series * w + splat<F64>(term);
  const F64 stirling = (x - half) * everywhere::log(x) - x + splat<F64>(0.91893853320467274178) + series / x;
  F64 value = stirling - everywhere::log(product);
  if (any_lane(below)) {
    // sin has the period 2 pi: its argument is reduced exactly. At the poles it is 0, and the logarithm infinite.
    const F64 sine = abs(sin(splat<F64>(3.14159265358979323846) * (a - round(a))));
    const F64 reflected = everywhere::log(splat<F64>(3.14159265358979323846) / sine) - value;
    value = below ? reflected : value;
  }
  value = a == floor(a) && a <= splat<F64>(0.0) ? infinity : value;
  value = a == one || a == splat<F64>(2.0) ? splat<F64>(0.0) : value;
  return abs(a) == infinity ? infinity : value;
}

/// Computed in double.
inline F32 lgamma(F32 a) {
  struct Halves {
    Native<float, kVectorBytes / 2> of[2];
  };
  Halves halves = std::bit_cast<Halves>(a);
  for (auto& half : halves.of) {
    const F64 y = lgamma_of_floats(__builtin_convertvector(half, F64));
    half = __builtin_convertvector(y, Native<float, kVectorBytes / 2>);
  }
  return std::bit_cast<F32>(halves);
}
inline F64 lgamma(F64 a) {
  return map_lanes(a, [](double x) { return __builtin_lgamma(x); });
}

}  // namespace native_math
}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
