#pragma once

#include <cstdint>

#include "engine/core/half.h"
#include "ops/simd/isa.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// n 16-bit floats as float.
inline void widen(const BFloat16* x, std::int64_t n, float* to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(x[i]);
}
inline void widen(const Half* x, std::int64_t n, float* to) {
  std::int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= n; i += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(bits));
  }
#endif
  for (; i < n; ++i) to[i] = static_cast<float>(x[i]);
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
