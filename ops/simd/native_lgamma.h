#pragma once

#include <bit>
#include <iterator>
#include <limits>

#include "ops/simd/native_everywhere.h"

/// The logarithm of the gamma function.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {
namespace native_math {

/// Returns log(gamma(1 + u)) for -1/4 <= u <= 5/4, to 1e-17 of its value: u (1 - u) q(u - 1/2), where q has degree 27
/// and interpolates the quotient at the Chebyshev nodes of the interval.
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
  // Two independent chains: the odd powers 27, 25 .. 1 and the even ones 26, 24 .. 0.
  F64 odd = splat<F64>(kOdd[0]);
  F64 even = splat<F64>(kEven[0]);
  for (int k = 1; k < static_cast<int>(std::size(kOdd)); ++k) {
    odd = multiply_add(odd, square, splat<F64>(kOdd[k]));
    even = multiply_add(even, square, splat<F64>(kEven[k]));
  }
  return u * (splat<F64>(1.0) - u) * multiply_add(odd, t, even);
}

/// Returns log|gamma(a)|. From 8 on by Stirling's series (Abramowitz and Stegun, 6.1.41). Below, gamma(a) is (a - 1) (a
/// - 2) .. (a - k + 1) gamma(1 + u) for k = floor(a - 1/4), 1 from 3/4 to 9/4, and u = a - k (6.1.15). Below 0 by
/// reflection (6.1.17); if the two logarithms cancel and the result is not rounded to float, C's function is used. The
/// logarithm vanishes at 1 and 2 as u (1 - u) does, without cancellation.
template <bool kOfFloats>
F64 lgamma_of(F64 a) {
  const F64 half = splat<F64>(0.5);
  const F64 one = splat<F64>(1.0);
  const F64 eight = splat<F64>(8.0);
  const F64 infinity = splat<F64>(std::numeric_limits<double>::infinity());
  // Nearer to 0 the result is -log|a| up to rounding.
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
      series = multiply_add(series, w, splat<F64>(term));
    }
    // log(2 pi) / 2 - 1 / 2
    const F64 rest = splat<F64>(0.41893853320467274178) + series * inverse;
    value = small ? value : (x - half) * (log - one) + rest;
  }
  if (any_lane(below)) {
    // sin has the period 2 pi, so its argument is reduced exactly. At the poles it is 0, and the logarithm infinite.
    const F64 sine = abs(sin(splat<F64>(3.14159265358979323846) * (a - round(a))));
    // log of gamma(1 + x).
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

/// Returns log(gamma(x)) for floats that are not negative, in float: 3 terms of Stirling's series, and q to 2e-9.
inline F32 lgamma_above_zero(F32 x) {
  constexpr float kEven[] = {-0.000632231321f, -0.00038547893f, -0.00205754826f, -0.00541883897f,
                             -0.0167997495f,   -0.0629113068f,  -0.483128951f};
  constexpr float kOdd[] = {0.000396381697f, 0.000232328168f, 0.00124937485f, 0.00319464104f,
                            0.00942729592f,  0.031308428f,    0.145959896f};
  const F32 half = splat<F32>(0.5f);
  const F32 one = splat<F32>(1.0f);
  const auto small = x < splat<F32>(8.0f);
  const F32 lowered = floor(x - splat<F32>(0.25f));
  const F32 whole = x < splat<F32>(0.75f) ? splat<F32>(0.0f) : lowered > one ? lowered : one;
  F32 value = x;
  if (any_lane(small)) {
    F32 product = x;
    if (any_lane(whole > one)) {
      product = x - one;
      for (int j = 2; j < 7; ++j)
        product =
            whole > splat<F32>(static_cast<float>(j)) ? product * (x - splat<F32>(static_cast<float>(j))) : product;
      product = whole < one ? x : product;
    }
    product = whole == one ? one : product;
    const F32 u = x - whole;
    const F32 t = u - half;
    const F32 square = t * t;
    F32 odd = splat<F32>(kOdd[0]);
    F32 even = splat<F32>(kEven[0]);
    for (int k = 1; k < static_cast<int>(std::size(kOdd)); ++k) {
      odd = multiply_add(odd, square, splat<F32>(kOdd[k]));
      even = multiply_add(even, square, splat<F32>(kEven[k]));
    }
    const F32 near = u * (one - u) * multiply_add(odd, t, even);
    const F32 log = everywhere::log(small ? product : one);
    value = near + (whole < one ? -log : log);
  }
  if (any_lane(~small)) {
    const F32 inverse = one / x;
    const F32 w = inverse * inverse;
    F32 series = splat<F32>(1.0f / 1260);
    for (const float term : {-1.0f / 360, 1.0f / 12}) series = multiply_add(series, w, splat<F32>(term));
    const F32 rest = splat<F32>(0.41893853320467274178f) + series * inverse;
    const F32 large = (x - half) * (everywhere::log(x) - one) + rest;
    value = small ? value : large;
  }
  return x == splat<F32>(std::numeric_limits<float>::infinity()) ? x : value;
}

inline F64 lgamma(F64 a) { return lgamma_of<false>(a); }
/// Negative numbers are computed in double, and no others: a result does not depend on those beside it.
inline F32 lgamma(F32 a) {
  const auto below = a < splat<F32>(-1e-20f);
  if (!any_lane(below)) return lgamma_above_zero(abs(a));
  struct Halves {
    Native<float, kVectorBytes / 2> of[2];
  };
  Halves halves = std::bit_cast<Halves>(a);
  for (auto& half : halves.of) {
    const F64 y = lgamma_of<true>(__builtin_convertvector(half, F64));
    half = __builtin_convertvector(y, Native<float, kVectorBytes / 2>);
  }
  return below ? std::bit_cast<F32>(halves) : lgamma_above_zero(abs(a));
}

}  // namespace native_math
}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
