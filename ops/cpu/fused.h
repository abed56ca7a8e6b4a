#pragma once

#include <type_traits>

#include "ops/simd/intrinsics.h"
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

/// c - a b, rounded once where the instruction set has that. One instruction, where a negated factor would be two.
template <class T>
[[gnu::always_inline]] inline simd::Vec<T> subtract_product(simd::Vec<T> a, simd::Vec<T> b, simd::Vec<T> c) {
  static_assert(std::is_floating_point_v<T>);
#if LM_SIMD_BYTES == 64
  if constexpr (std::is_same_v<T, float>) {
    return simd::Vec<T>(_mm512_fnmadd_ps(a.native(), b.native(), c.native()));
  } else {
    return simd::Vec<T>(_mm512_fnmadd_pd(a.native(), b.native(), c.native()));
  }
#elif LM_SIMD_BYTES == 32
  if constexpr (std::is_same_v<T, float>) {
    return simd::Vec<T>(_mm256_fnmadd_ps(a.native(), b.native(), c.native()));
  } else {
    return simd::Vec<T>(_mm256_fnmadd_pd(a.native(), b.native(), c.native()));
  }
#else
  return c - a * b;
#endif
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
