#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "ops/simd/intrinsics.h"
#include "ops/simd/native.h"

/// Conversion between an array of `bool` and a mask of -1 and 0 as wide as the elements. The compiler's own conversion
/// goes through general registers, one lane at a time, if the array is narrower than a register (g++ 12).
namespace lamella::simd {
inline namespace LM_SIMD_ISA {

/// Reads one byte per lane of `M`, a vector of signed integers.
template <class M>
M mask_from_bytes(const bool* from) {
  constexpr int kElement = sizeof(std::declval<M>()[0]);
  constexpr int kLanes = sizeof(M) / kElement;
#if LM_SIMD_BYTES == 64
  // Masked forms with all lanes set: the plain forms read an undefined register in g++ 12, which then warns about it.
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
#elif defined(__aarch64__)
  if constexpr (kElement > 1) {
    std::uint64_t packed = 0;
    std::memcpy(&packed, from, kLanes);
    const int16x8_t of_2 = vmovl_s8(vcreate_s8(packed));
    if constexpr (kElement == 2) return reinterpret_cast<M>(of_2) != 0;
    const int32x4_t of_4 = vmovl_s16(vget_low_s16(of_2));
    if constexpr (kElement == 4) return reinterpret_cast<M>(of_4) != 0;
    if constexpr (kElement == 8) return reinterpret_cast<M>(vmovl_s32(vget_low_s32(of_4))) != 0;
  }
#endif
  Native<std::int8_t, kLanes> bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return __builtin_convertvector(bytes, M) != 0;
}

/// Writes 1 for each lane of `mask` that is -1, else 0.
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
#elif defined(__aarch64__)
  if constexpr (kElement > 1) {
    // Each step keeps the lower halves of all lanes.
    auto packed = reinterpret_cast<int8x16_t>(mask);
    const auto words = [&] { return vreinterpretq_s32_s8(packed); };
    const auto shorts = [&] { return vreinterpretq_s16_s8(packed); };
    if constexpr (kElement == 8) packed = vreinterpretq_s8_s32(vuzp1q_s32(words(), words()));
    if constexpr (kElement >= 4) packed = vreinterpretq_s8_s16(vuzp1q_s16(shorts(), shorts()));
    packed = vandq_s8(vuzp1q_s8(packed, packed), vdupq_n_s8(1));
    std::memcpy(to, &packed, kLanes);
    return;
  }
#endif
  const auto bytes = __builtin_convertvector(mask & 1, Native<std::int8_t, kLanes>);
  std::memcpy(to, &bytes, kLanes);
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
