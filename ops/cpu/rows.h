#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ops/simd/convert.h"
#include "ops/simd/intrinsics.h"
#include "ops/simd/isa.h"
#include "ops/simd/native.h"
#include "ops/simd/native_math.h"

namespace lamella::cpu {

/// Converts a floating number to an integer of 8 or 16 bits as `convert` does, without branches.
template <class To, class From>
To convert_to_small(From from) {
  constexpr From kLow = std::numeric_limits<To>::min();
  constexpr From kHigh = std::numeric_limits<To>::max();
  const From above = from > kLow ? from : kLow;
  const From within = above < kHigh ? above : kHigh;
  return static_cast<To>(static_cast<std::int32_t>(from == from ? within : From{0}));
}

/// Converts the leading elements that fill whole vectors; returns their number.
template <class To>
std::int64_t convert_to_small_in_vectors(To* to, const float* from, std::int64_t n) {
  constexpr int kLanes = simd::kVectorBytes / 4;
  using V = simd::Native<float>;
  using Narrow [[gnu::vector_size(kLanes * sizeof(To))]] = To;
  const V low = simd::splat<V>(static_cast<float>(std::numeric_limits<To>::min()));
  const V high = simd::splat<V>(static_cast<float>(std::numeric_limits<To>::max()));
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    V x;
    std::memcpy(&x, from + i, sizeof x);
    const V within = simd::native_math::extreme<false>(simd::native_math::extreme<true>(x, low), high);
    const V number = x == x ? within : V{};
    const auto narrow = __builtin_convertvector(__builtin_convertvector(number, simd::Native<std::int32_t>), Narrow);
    std::memcpy(to + i, &narrow, sizeof narrow);
  }
  return i;
}

/// Converts contiguous elements. Plain loops, which the compiler vectorizes; float16 uses intrinsics.
template <class To, class From>
void convert_dense(To* to, const From* from, std::int64_t n) {
  std::int64_t i = 0;
  if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, float>) {
#if LM_SIMD_BYTES == 64
    for (; i + 16 <= n; i += 16) {
      const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
      _mm512_storeu_ps(to + i, _mm512_maskz_cvtph_ps(0xffff, half));
    }
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
      _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
    }
#elif defined(__aarch64__)
    for (; i + 4 <= n; i += 4) {
      vst1q_f32(to + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&from[i].bits))));
    }
#endif
  } else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Half>) {
#if LM_SIMD_BYTES == 64
    for (; i + 16 <= n; i += 16) {
      const __m256i half = _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), half);
    }
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
      const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), half);
    }
#elif defined(__aarch64__)
    for (; i + 4 <= n; i += 4) {
      vst1_u16(&to[i].bits, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(from + i))));
    }
#endif
  } else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, BFloat16>) {
    // Rounds as BFloat16 does, without a branch.
    for (; i < n; ++i) {
      const std::uint32_t f = std::bit_cast<std::uint32_t>(from[i]);
      const std::uint32_t rounded = (f + 0x7fffu + ((f >> 16) & 1u)) >> 16;
      const std::uint32_t nan = (f >> 16) | 0x40u;
      to[i].bits = static_cast<std::uint16_t>((f & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
    }
  } else if constexpr (std::is_integral_v<From> && sizeof(From) <= 4 && std::is_same_v<To, BFloat16>) {
    // An integer never converts to NaN, so no check for NaN is needed.
    for (; i < n; ++i) {
      const std::uint32_t f = std::bit_cast<std::uint32_t>(static_cast<float>(from[i]));
      to[i].bits = static_cast<std::uint16_t>((f + 0x7fffu + ((f >> 16) & 1u)) >> 16);
    }
  } else if constexpr (kIsComplex<From> && std::is_same_v<To, bool>) {
    using Part = typename From::value_type;
    for (; i < n; ++i) to[i] = (int{from[i].real() != Part{}} | int{from[i].imag() != Part{}}) != 0;
  } else if constexpr (std::is_same_v<From, bool> && !std::is_same_v<To, bool>) {
    // A bool is read as its byte, which is 0 or 1.
    return convert_dense(to, reinterpret_cast<const std::uint8_t*>(from), n);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) <= 2 &&
                       !std::is_same_v<To, bool>) {
    if constexpr (std::is_same_v<From, float>) i = convert_to_small_in_vectors(to, from, n);
    for (; i < n; ++i) to[i] = convert_to_small<To>(from[i]);
  }
  for (; i < n; ++i) to[i] = convert<To>(from[i]);
}

}  // namespace lamella::cpu
