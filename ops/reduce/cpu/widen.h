#pragma once

#include <cstdint>
#include <cstring>

#include "engine/core/half.h"
#include "ops/simd/intrinsics.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// Converts n 16-bit floats to float.
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
#elif defined(__aarch64__)
  for (; i + 4 <= n; i += 4) {
    vst1q_f32(to + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&x[i].bits))));
  }
#endif
  for (; i < n; ++i) to[i] = static_cast<float>(x[i]);
}

/// Loads a vector of contiguous 16-bit floats as float.
inline simd::Vec<float> load_wide(const BFloat16* x) {
  constexpr int kSize = simd::Vec<float>::size;
  using Narrow [[gnu::vector_size(2 * kSize)]] = std::uint16_t;
  using Wide [[gnu::vector_size(4 * kSize)]] = std::uint32_t;
  Narrow bits;
  std::memcpy(&bits, x, sizeof bits);
  return simd::Vec<float>(reinterpret_cast<simd::Native<float>>(__builtin_convertvector(bits, Wide) << 16));
}
#if LM_SIMD_BYTES == 64
inline simd::Vec<float> load_wide(const Half* x) {
  return simd::Vec<float>(_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x))));
}
#elif LM_SIMD_BYTES == 32 && defined(__F16C__)
inline simd::Vec<float> load_wide(const Half* x) {
  return simd::Vec<float>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
}
#elif defined(__aarch64__)
inline simd::Vec<float> load_wide(const Half* x) {
  return simd::Vec<float>(vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&x->bits))));
}
#endif

/// True if there is an overload of load_wide() for T.
template <class T>
inline constexpr bool kLoadsWide = requires(const T* x) { load_wide(x); };

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
