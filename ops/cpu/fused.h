#pragma once

#include "ops/simd/vec.h"

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// a b + c of vectors or of single numbers, rounded once where the instruction set has that for both.
template <class X>
[[gnu::always_inline]] inline X multiply_add(X a, X b, X c) {
#if LM_SIMD_BYTES >= 32 && defined(__x86_64__)
  if constexpr (std::is_same_v<X, float>) {
    return __builtin_fmaf(a, b, c);
  } else if constexpr (std::is_same_v<X, double>) {
    return __builtin_fma(a, b, c);
  } else {
    return X(simd::native_math::fused(a.native(), b.native(), c.native()));
  }
#else
  return a * b + c;
#endif
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
