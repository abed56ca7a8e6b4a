#pragma once

#include <bit>
#include <iterator>
#include <type_traits>

#include "ops/simd/native_math.h"
#include "ops/simd/pick_of_16.h"

/// The exponential, which dominates the time of softmax, attention, the gates and half of the activations.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {
namespace native_math {

#ifdef LM_SIMD_FUSED

/// exp(a) = 2^n exp(r), where a = n ln(2) + r, and exp(r) = 1 + r + r^2 q(r) for |r| <= ln(2) / 2.
template <class T>
struct Exp;
template <>
struct Exp<float> {
  /// Fitted for the least relative error of exp(r), 3.1e-9.
  static constexpr float kQuotient[] = {4.9999993432e-01f, 1.6666520399e-01f, 4.1668390790e-02f, 8.3687451271e-03f,
                                        1.3814539879e-03f};
  /// ln(2) as a float, and its remainder.
  static constexpr float kLn2 = 0.693147182464599609375f;
  static constexpr float kLn2Rest = -1.904654299957768e-09f;
  /// exp is 0 up to the first bound and infinite from the second one on.
  static constexpr float kLowest = -104;
  static constexpr float kHighest = 89;
};
template <>
struct Exp<double> {
  /// Fitted for the least relative error of exp(r), 3.6e-18.
  static constexpr double kQuotient[] = {
      0.50000000000000106266,   0.16666666666666412491,    0.041666666666530162949,    0.0083333333334944860817,
      0.0013888888943629076667, 0.00019841269506519687414, 0.000024801493099877014036, 2.7557586430346136601e-6,
      2.7630248066541836354e-7, 2.5000042896524454172e-8};
  static constexpr double kLn2 = 0.693147180559945286226764;
  static constexpr double kLn2Rest = 2.319046813846299558e-17;
  static constexpr double kLowest = -746;
  static constexpr double kHighest = 710;
};
inline constexpr float kLog2E = 1.44269504088896340736f;

/// Clamp a to the bounds; NaN stays NaN.
#if LM_SIMD_BYTES == 64
// For a NaN the instruction returns the second operand, the NaN. No clamp at the lower bound: scaled_above() returns 0
// there.
inline F32 within_exp(F32 a) { return _mm512_maskz_min_ps(0xffff, splat<F32>(Exp<float>::kHighest), a); }
inline F64 within_exp(F64 a) { return _mm512_maskz_min_pd(0xff, splat<F64>(Exp<double>::kHighest), a); }
#elif defined(__aarch64__)
// Both instructions keep a NaN.
inline F32 within_exp(F32 a) {
  return vminq_f32(vmaxq_f32(a, splat<F32>(Exp<float>::kLowest)), splat<F32>(Exp<float>::kHighest));
}
inline F64 within_exp(F64 a) {
  return vminq_f64(vmaxq_f64(a, splat<F64>(Exp<double>::kLowest)), splat<F64>(Exp<double>::kHighest));
}
#else
inline F32 within_exp(F32 a) {
  return _mm256_min_ps(splat<F32>(Exp<float>::kHighest), _mm256_max_ps(splat<F32>(Exp<float>::kLowest), a));
}
#endif

/// Returns p 2^n, rounded once even if the result is denormal; 0 unless `a` is above `low`. Below it the result would
/// underflow, which takes a hundred times as long on some processors.
#if LM_SIMD_BYTES == 64
inline F32 scaled_above(float low, F32 a, F32 p, F32 n) {
  return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(a, splat<F32>(low), _CMP_NLE_UQ), p, n);
}
inline F64 scaled_above(double low, F64 a, F64 p, F64 n) {
  return _mm512_maskz_scalef_pd(_mm512_cmp_pd_mask(a, splat<F64>(low), _CMP_NLE_UQ), p, n);
}
#else
template <class V>
V scaled_above(std::remove_cvref_t<decltype(V{}[0])> low, V a, V p, V n) {
  // Scales in two steps, because 2^n alone may be out of range; only the second step rounds.
  using T = decltype(low);
  using Bits = Native<LaneMaskInt<T>>;
  constexpr int kDigits = sizeof(T) == 4 ? 23 : 52;
  constexpr LaneMaskInt<T> kBias = sizeof(T) == 4 ? 127 : 1023;
  const Bits whole = __builtin_convertvector(n, Bits);
  const Bits half = whole >> 1;
  const auto power = [](Bits k) { return std::bit_cast<V>((k + kBias) << kDigits); };
  const Bits not_above = a <= splat<V>(low);
  return std::bit_cast<V>(std::bit_cast<Bits>(p) & ~not_above) * power(half) * power(whole - half);
}
#endif

/// The parts of exp(x) = 2^n (1 + rest), for x within the bounds.
template <class V>
struct ExpParts {
  V n;
  V rest;
};

template <class V>
ExpParts<V> exp_parts(V x) {
  using T = std::remove_cvref_t<decltype(x[0])>;
  using E = Exp<T>;
  constexpr int kLast = static_cast<int>(std::size(E::kQuotient)) - 1;
  const V n = round(x * splat<V>(T(1.44269504088896340736)));
  const V r = fused(n, splat<V>(-E::kLn2Rest), fused(n, splat<V>(-E::kLn2), x));
  V q = splat<V>(E::kQuotient[kLast]);
  for (int k = kLast - 1; k >= 0; --k) q = fused(q, r, splat<V>(E::kQuotient[k]));
  return {n, fused(r * r, q, r)};
}

template <class V>
V exponential(V a) {
  using T = std::remove_cvref_t<decltype(a[0])>;
  const auto [n, rest] = exp_parts(within_exp(a));
  return scaled_above(Exp<T>::kLowest, a, rest + splat<V>(T{1}), n);
}

#if LM_SIMD_BYTES == 64
/// For doubles on v4 exp(a) = 2^n exp(r) with a = n ln(2) + r, where n is a multiple of 1/16, whose fraction selects
/// its power from registers, and |r| <= ln(2) / 32. q has half as many terms, fitted to 3e-17.
inline F64 exponential(F64 a) {
  using E = Exp<double>;
  alignas(64) constexpr static double kPowers[] = {0x1p+0,
                                                   0x1.0b5586cf9890fp+0,
                                                   0x1.172b83c7d517bp+0,
                                                   0x1.2387a6e756238p+0,
                                                   0x1.306fe0a31b715p+0,
                                                   0x1.3dea64c123422p+0,
                                                   0x1.4bfdad5362a27p+0,
                                                   0x1.5ab07dd485429p+0,
                                                   0x1.6a09e667f3bcdp+0,
                                                   0x1.7a11473eb0187p+0,
                                                   0x1.8ace5422aa0dbp+0,
                                                   0x1.9c49182a3f090p+0,
                                                   0x1.ae89f995ad3adp+0,
                                                   0x1.c199bdd85529cp+0,
                                                   0x1.d5818dcfba487p+0,
                                                   0x1.ea4afa2a490dap+0};
  constexpr double kQuotient[] = {0.0013889034377693011883, 0.0083334497245283561569, 0.041666666664959767097,
                                  0.16666666665301144786, 0.5};
  constexpr double kShift = 0x1.8p48;  // added to a small number, its last bit is 1/16
  const F64 x = within_exp(a);
  const F64 shifted = fused(x, splat<F64>(1.44269504088896340736), splat<F64>(kShift));
  const F64 n = shifted - splat<F64>(kShift);
  const F64 r = fused(n, splat<F64>(-E::kLn2Rest), fused(n, splat<F64>(-E::kLn2), x));
  F64 q = splat<F64>(kQuotient[0]);
  for (std::size_t k = 1; k < std::size(kQuotient); ++k) q = fused(q, r, splat<F64>(kQuotient[k]));
  const F64 power = pick_of_16(kPowers, reinterpret_cast<__m512i>(shifted));
  // The scaling instruction uses the whole part of n only.
  return scaled_above(E::kLowest, a, fused(power, fused(r * r, q, r), power), n);
}

/// Computes tanh(a) = -t / (2 + t) for t = exp(-2 |a|) - 1 = 2^n (exp(r) - 1) + (2^n - 1), which does not cancel.
inline F64 hyperbolic_tangent(F64 a) {
  constexpr double kEnd = 20;  // from here on the result is 1
  const F64 one = splat<F64>(1.0);
  // For a NaN the instruction returns the second operand, the NaN.
  const auto [n, rest] = exp_parts(splat<F64>(-2.0) * F64(_mm512_maskz_min_pd(0xff, splat<F64>(kEnd), abs(a))));
  const F64 power = _mm512_maskz_scalef_pd(0xff, one, n);
  const F64 t = fused(power, rest, power - one);
  return copysign(t / (splat<F64>(2.0) + t), a);
}
#endif

#endif

}  // namespace native_math
}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
