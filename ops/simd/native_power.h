#pragma once

#include "ops/simd/native_exp.h"

#ifdef LM_SIMD_FUSED

/// Powers of two that are never large: what the exponentials of a softmax come to.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {
namespace native_math {

/// 2^f for 0 <= f < 1, fitted for the least relative error, 8.2e-8: less than what rounding t to a float makes of it
/// below t = -2.
inline constexpr int kPowerDegree = 5;
inline constexpr float kPowerOfTwo[] = {
    1.0f, 6.9315131183e-01f, 2.4016444987e-01f, 5.5799914107e-02f, 9.0170289573e-03f, 1.8671307031e-03f};
/// Below it 2^t is 0.
inline constexpr float kPowerLowest = -160;

#if LM_SIMD_BYTES == 64
inline F32 at_least(F32 low, F32 a) { return _mm512_maskz_max_ps(0xffff, low, a); }
inline F32 fraction(F32 a) { return _mm512_maskz_reduce_ps(0xffff, a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
/// p 2^floor(t).
inline F32 scaled_by(F32 p, F32 t) { return _mm512_maskz_scalef_ps(0xffff, p, t); }
#else
#if defined(__aarch64__)
inline F32 at_least(F32 low, F32 a) { return vmaxq_f32(low, a); }
#else
inline F32 at_least(F32 low, F32 a) { return _mm256_max_ps(low, a); }
#endif
inline F32 fraction(F32 a) { return a - floor(a); }
inline F32 scaled_by(F32 p, F32 t) { return scaled(p, floor(t)); }
#endif

/// 2^t for t up to 2 or so, NaN for NaN: with fewer steps than exponential(), for what is never large.
inline F32 power_of_two(F32 t) {
  const F32 within = at_least(splat<F32>(kPowerLowest), t);
  const F32 f = fraction(within);
  F32 p = splat<F32>(kPowerOfTwo[kPowerDegree]);
  for (int k = kPowerDegree - 1; k >= 0; --k) p = fused(p, f, splat<F32>(kPowerOfTwo[k]));
  return scaled_by(p, within);
}

}  // namespace native_math
}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd

#endif
