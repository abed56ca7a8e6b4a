#pragma once

#include "ops/simd/native_exp.h"

#ifdef LM_SIMD_FUSED

/// Powers of two that are never large, as the exponentials of a softmax.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {
namespace native_math {

/// Coefficients of 2^f for 0 <= f < 1, fitted for the least relative error, 8.2e-8, which is below the error of
/// rounding t to a float for t < -2.
inline constexpr int kPowerDegree = 5;
inline constexpr float kPowerOfTwo[] = {
    1.0f, 6.9315131183e-01f, 2.4016444987e-01f, 5.5799914107e-02f, 9.0170289573e-03f, 1.8671307031e-03f};
/// Up to this t, 2^t is 0.
inline constexpr float kPowerLowest = -150;

/// t split into a whole part and a nonnegative fraction. Values below kPowerLowest need no exact parts: 2^t is 0.
struct PowerParts {
  F32 whole;
  F32 fraction;
};
inline PowerParts parts_of_power(F32 t) {
#if LM_SIMD_BYTES == 64
  // The scaling instruction uses the whole part of t itself.
  return {t, _mm512_maskz_reduce_ps(0xffff, t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
#else
  const F32 low = splat<F32>(kPowerLowest);
#if defined(__aarch64__)
  const F32 within = vmaxq_f32(low, t);
#else
  const F32 within = _mm256_max_ps(low, t);
#endif
  const F32 whole = floor(within);
  return {whole, within - whole};
#endif
}

/// Returns 2^t for t up to about 2, NaN for NaN, in fewer steps than exponential().
inline F32 power_of_two(F32 t) {
  const auto [whole, f] = parts_of_power(t);
  F32 p = splat<F32>(kPowerOfTwo[kPowerDegree]);
  for (int k = kPowerDegree - 1; k >= 0; --k) p = fused(p, f, splat<F32>(kPowerOfTwo[k]));
  return scaled_above(kPowerLowest, t, p, whole);
}

}  // namespace native_math
}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd

#endif
