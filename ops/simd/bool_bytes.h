#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "ops/simd/native.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/// Between an array of `bool` and a mask of -1 and 0 as wide as the elements. The compiler's own conversion between
/// such vectors goes through general registers, one lane at a time, where the array is narrower than a register (g++
/// 12).
namespace lamella::simd {
inline namespace LM_SIMD_ISA {

/// Reads one byte for each lane of `M`, a vector of signed integers.
template <class M>
M mask_from_bytes(const bool* from) {
  constexpr int kElement = sizeof(std::declval<M>()[0]);
  constexpr int kLanes = sizeof(M) / kElement;
#if LM_SIMD_BYTES == 64
  // With a mask of all lanes: the plain forms read an undefined register in g++ 12, which then warns about it.
  if constexpr (kElement == 8) {
    return reinterpret_cast<M>(_mm512_maskz_cvtepi8_epi64(0xff, _mm_loadu_si64(from))) != 0;
  }
  if constexpr (kElement == 4) {
    __m128i bytes;
    std::memcpy(&bytes, from, sizeof bytes);
    return reinterpret_cast<M>(_mm512_maskz_cvtepi8_epi32(0xffff, bytes)) != 0;
  }
#elif defined(__AVX2__)
  if constexpr (kElement == 8) return reinterpret_cast<M>(_mm256_cvtepi8_epi64(_mm_loadu_si32(from))) != 0;
  if constexpr (kElement == 4) return reinterpret_cast<M>(_mm256_cvtepi8_epi32(_mm_loadu_si64(from))) != 0;
#elif defined(__SSE4_1__)
  if constexpr (kElement == 8) return reinterpret_cast<M>(_mm_cvtepi8_epi64(_mm_loadu_si16(from))) != 0;
  if constexpr (kElement == 4) return reinterpret_cast<M>(_mm_cvtepi8_epi32(_mm_loadu_si32(from))) != 0;
  if constexpr (kElement == 2) return reinterpret_cast<M>(_mm_cvtepi8_epi16(_mm_loadu_si64(from))) != 0;
#endif
  Native<std::int8_t, kLanes> bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return __builtin_convertvector(bytes, M) != 0;
}

/// Writes 1 for each lane of `mask` that is -1, and 0 for the others.
template <class M>
void mask_to_bytes(M mask, bool* to) {
  constexpr int kElement = sizeof(mask[0]);
  constexpr int kLanes = sizeof(M) / kElement;
#if defined(__x86_64__) && LM_SIMD_BYTES <= 32
  if constexpr (kElement > 1) {
#if LM_SIMD_BYTES == 32
    const __m128i low = _mm256_castsi256_si128(reinterpret_cast<__m256i>(mask));
    const __m128i high = _mm256_extracti128_si256(reinterpret_cast<__m256i>(mask), 1);
    __m128i packed = kElement == 2 ? _mm_packs_epi16(low, high) : _mm_packs_epi32(low, high);
    constexpr int kPacked = kElement / 2;
#else
    __m128i packed = reinterpret_cast<__m128i>(mask);
    constexpr int kPacked = kElement;
#endif
    if constexpr (kPacked == 8) packed = _mm_packs_epi32(packed, packed);
    if constexpr (kPacked >= 4) packed = _mm_packs_epi32(packed, packed);
    if constexpr (kPacked >= 2) packed = _mm_packs_epi16(packed, packed);
    packed = _mm_and_si128(packed, _mm_set1_epi8(1));
    std::memcpy(to, &packed, kLanes);
    return;
  }
#endif
  const auto bytes = __builtin_convertvector(mask & 1, Native<std::int8_t, kLanes>);
  std::memcpy(to, &bytes, kLanes);
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
