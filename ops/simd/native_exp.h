#pragma once

#include <bit>
#include <cstdint>

#include "ops/simd/native_math.h"

/// The exponential, which softmax, attention, the gates and half of the activations spend their time in.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {
namespace native_math {

inline F64 exponential(F64 a) { return exp(a); }

#ifdef LM_SIMD_FUSED

/// exp(r) = 1 + r + r^2 q(r) for |r| <= ln(2) / 2. q was fitted for the least relative error of exp(r), 3.1e-9.
inline constexpr float kExpQuotient[] = {4.9999993432e-01f, 1.6666520399e-01f, 4.1668390790e-02f, 8.3687451271e-03f,
                                         1.3814539879e-03f};
inline constexpr float kLog2E = 1.44269504088896340736f;
/// ln(2) as a float, and what that lacks.
inline constexpr float kLn2 = 0.693147182464599609375f;
inline constexpr float kLn2Rest = -1.904654299957768e-09f;
/// Beyond these exp is 0, and infinite.
inline constexpr float kExpLowest = -104;
inline constexpr float kExpHighest = 89;

#if LM_SIMD_BYTES == 64
inline F32 within_exp(F32 a) {
  // Of a NaN the second operand is taken: it stays. What is too low is not looked at.
  return _mm512_maskz_min_ps(0xffff, splat<F32>(kExpHighest), a);
}
#elif defined(__aarch64__)
inline F32 within_exp(F32 a) {
  // Either of the two keeps a NaN.
  return vminq_f32(vmaxq_f32(a, splat<F32>(kExpLowest)), splat<F32>(kExpHighest));
}
#else
inline F32 within_exp(F32 a) {
  return _mm256_min_ps(splat<F32>(kExpHighest), _mm256_max_ps(splat<F32>(kExpLowest), a));
}
#endif

/// p 2^n, rounded once also where it is denormal; 0 where `a` is not above `low`. There it would underflow, for which
/// some processors take a hundred times as long.
inline F32 scaled_above(float low, F32 a, F32 p, F32 n) {
#if LM_SIMD_BYTES == 64
  return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(a, splat<F32>(low), _CMP_NLE_UQ), p, n);
#else
  // In two steps, as 2^n may be no float by itself; only the second one rounds.
  using I32 = Native<std::int32_t>;
  const I32 whole = __builtin_convertvector(n, I32);
  const I32 half = whole >> 1;
  const auto power = [](I32 k) { return std::bit_cast<F32>((k + 127) << 23); };
  const I32 not_above = a <= splat<F32>(low);
  return std::bit_cast<F32>(std::bit_cast<I32>(p) & ~not_above) * power(half) * power(whole - half);
#endif
}

/// exp(a) = 2^n exp(r), where a = n ln(2) + r.
inline F32 exponential(F32 a) {
  const F32 x = within_exp(a);
  const F32 n = round(x * splat<F32>(kLog2E));
  const F32 r = fused(n, splat<F32>(-kLn2Rest), fused(n, splat<F32>(-kLn2), x));
  F32 q = splat<F32>(kExpQuotient[4]);
  for (int k = 3; k >= 0; --k) q = fused(q, r, splat<F32>(kExpQuotient[k]));
  return scaled_above(kExpLowest, a, fused(r * r, q, r) + splat<F32>(1.0f), n);
}

#else
inline F32 exponential(F32 a) { return exp(a); }
#endif

}  // namespace native_math
}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
