#pragma once

#include <bit>
#include <iterator>
#include <limits>

#include "ops/simd/native_everywhere.h"

/// The logarithm of the gamma function.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {
namespace native_math {

/// log(gamma(1 + u)) for -1/4 <= u <= 5/4 to 1e-17 of its value: u (1 - u) q(u - 1/2), where q has degree 27 and is
/// what the quotient is at the Chebyshev nodes of the interval.
inline F64 lgamma_above_one(F64 u) {
  constexpr double kOdd[] = {1.84355923426689796e-6, -2.84298321986146896e-6, 5.99520658515405856e-6,
                             1.21063340645560693e-6, 1.21494386496810439e-5,  2.58836037196801911e-5,
                             6.64354318243309678e-5, 1.6887441283653584e-4,   4.37997317021581964e-4,
                             1.16441431786456584e-3, 3.21207408382960758e-3,  9.42562244832320288e-3,
                             3.13084875010122712e-2, 1.4595989591430608e-1};
  constexpr double kEven[] = {-2.85185879652076112e-6, 4.38379175976783809e-6,  -9.29155509251020806e-6,
                              -1.96907032611246435e-6, -1.90810102174710503e-5, -4.0979929235658084e-5,
                              -1.05811861327364699e-4, -2.71246350559564688e-4, -7.11525649202639945e-4,
                              -1.92291589903688139e-3, -5.44645785479647231e-3, -1.67970986309604838e-2,
                              -6.29114010745669039e-2, -4.83128950540980887e-1};
  const F64 t = u - splat<F64>(0.5);
  const F64 square = t * t;
  // Two chains, which do not wait for one another: of the powers 27, 25 .. 1 and 26, 24 .. 0.
  F64 odd = splat<F64>(kOdd[0]);
  F64 even = splat<F64>(kEven[0]);
  for (int k = 1; k < static_cast<int>(std::size(kOdd)); ++k) {
    odd = odd * square + splat<F64>(kOdd[k]);
    even = even * square + splat<F64>(kEven[k]);
  }
  return u * (splat<F64>(1.0) - u) * (odd * t + even);
}

/// log|gamma(a)|. From 8 on Stirling's series (Abramowitz and Stegun, 6.1.41); below, gamma(a) is (a - 1) (a - 2) ..
/// (a - k + 1) gamma(1 + u) for k = floor(a - 1/4), 1 from 3/4 to 9/4, and u = a - k (6.1.15); below 0 reflected
/// (6.1.17), and where little is left of the two logarithms and the result is not rounded to float, C's function. The
/// logarithm vanishes at 1 and 2 as u (1 - u) does, without cancellation.
template <bool kOfFloats>
F64 lgamma_of(F64 a) {
  const F64 half = splat<F64>(0.5);
  const F64 one = splat<F64>(1.0);
  const F64 eight = splat<F64>(8.0);
  const F64 infinity = splat<F64>(std::numeric_limits<double>::infinity());
  // Nearer to 0 it is -log|a| to a rounding.
  const auto below = a < splat<F64>(-1e-20);
  const F64 x = abs(a);
  const auto small = x < eight;
  const F64 lowered = floor(x - splat<F64>(0.25));
  const F64 whole = x < splat<F64>(0.75) ? splat<F64>(0.0) : lowered > one ? lowered : one;
  F64 product = small ? one : x;
  for (int j = 1; j < 7; ++j) {
    product = (small & (whole > splat<F64>(j))) ? product * (x - splat<F64>(j)) : product;
  }
  product = whole < one ? x : product;
  const F64 log = everywhere::log(product);
  const F64 near = lgamma_above_one(x - whole);
  F64 value = near + (whole < one ? -log : log);
  if (any_lane(~small)) {
    const F64 inverse = one / x;
    const F64 w = inverse * inverse;
    // B_2k / (2k (2k - 1))
    F64 series = splat<F64>(43867.0 / 244188);
    for (const double term :
         {-3617.0 / 122400, 1.0 / 156, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12}) {
      series = series * w + splat<F64>(term);
    }
    // log(2 pi) / 2 - 1 / 2
    const F64 rest = splat<F64>(0.41893853320467274178) + series * inverse;
    value = small ? value : (x - half) * (log - one) + rest;
  }
  if (any_lane(below)) {
    // sin has the period 2 pi: its argument is reduced exactly. At the poles it is 0, and the logarithm infinite.
    const F64 sine = abs(sin(splat<F64>(3.14159265358979323846) * (a - round(a))));
    // Of gamma(1 + x).
    const F64 above = whole < one ? near : value + everywhere::log(x);
    // log(pi)
    const F64 reflected = splat<F64>(1.14472988584940017414) - above - everywhere::log(sine);
    value = below ? reflected : value;
    if constexpr (!kOfFloats) {
      const auto cancelled = below & (abs(reflected) < half * abs(above));
      if (any_lane(cancelled)) {
        for (int i = 0; i < static_cast<int>(sizeof(F64) / sizeof(double)); ++i) {
          if (cancelled[i]) value[i] = __builtin_lgamma(a[i]);
        }
      }
    }
  }
  return x == infinity ? infinity : value;
}

inline F64 lgamma(F64 a) { return lgamma_of<false>(a); }
/// Computed in double.
inline F32 lgamma(F32 a) {
  struct Halves {
    Native<float, kVectorBytes / 2> of[2];
  };
  Halves halves = std::bit_cast<Halves>(a);
  for (auto& half : halves.of) {
    const F64 y = lgamma_of<true>(__builtin_convertvector(half, F64));
    half = __builtin_convertvector(y, Native<float, kVectorBytes / 2>);
  }
  return std::bit_cast<F32>(halves);
}

}  // namespace native_math
}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
