#pragma once

#include <type_traits>

#include "ops/simd/intrinsics.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// Returns a b + c for vectors or single numbers, with one rounding if the instruction set has a fused instruction for
/// both.
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

/// Returns c - a b, with one rounding if the instruction set has a fused instruction; negating a factor would take a
/// second instruction.
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
