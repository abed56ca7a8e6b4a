#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/simd/isa.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace lamella::cpu {
inline namespace LM_SIMD_ISA {

/// True if masked instructions move a few elements of T at once.
#ifdef __AVX2__
template <class T>
inline constexpr bool kMovesFew = sizeof(T) == 4 || sizeof(T) == 8;
#else
template <class T>
inline constexpr bool kMovesFew = false;
#endif

#if defined(__AVX512F__)

/// Fills a vector with n elements from `from`, fewer than its lanes, and `pad` in the other lanes.
template <class T>
void gather_few(const T* from, std::int64_t n, T pad, T* to) {
  const auto lanes = (1u << n) - 1;
  if constexpr (sizeof(T) == 4) {
    const __m512i others = _mm512_set1_epi32(__builtin_bit_cast(int, pad));
    _mm512_storeu_si512(to, _mm512_mask_loadu_epi32(others, static_cast<__mmask16>(lanes), from));
  } else {
    const __m512i others = _mm512_set1_epi64(__builtin_bit_cast(long long, pad));
    _mm512_storeu_si512(to, _mm512_mask_loadu_epi64(others, static_cast<__mmask8>(lanes), from));
  }
}
/// Fills a vector with n elements, every second one from `from`, and `pad` in the other lanes. Reads nothing after the
/// last element.
template <class T>
void gather_few_apart(const T* from, std::int64_t n, T pad, T* to) {
  constexpr int kLanes = 64 / static_cast<int>(sizeof(T));
  const auto lanes = (std::uint32_t{1} << (2 * n - 1)) - 1;
  if constexpr (sizeof(T) == 4) {
    const __m512i others = _mm512_set1_epi32(__builtin_bit_cast(int, pad));
    const __m512i a = _mm512_mask_loadu_epi32(others, static_cast<__mmask16>(lanes), from);
    const __m512i b = _mm512_mask_loadu_epi32(others, static_cast<__mmask16>(lanes >> kLanes), from + kLanes);
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi32(a, even, b));
  } else {
    const __m512i others = _mm512_set1_epi64(__builtin_bit_cast(long long, pad));
    const __m512i a = _mm512_mask_loadu_epi64(others, static_cast<__mmask8>(lanes), from);
    const __m512i b = _mm512_mask_loadu_epi64(others, static_cast<__mmask8>(lanes >> kLanes), from + kLanes);
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi64(a, even, b));
  }
}
/// Stores the first n elements of the vector at `from`.
template <class T>
void scatter_few(const T* from, std::int64_t n, T* to) {
  const auto lanes = (1u << n) - 1;
  if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(lanes), _mm512_loadu_si512(from));
  } else {
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(lanes), _mm512_loadu_si512(from));
  }
}

#elif defined(__AVX2__)

/// Returns a mask with all bits set in the first n lanes.
template <class T>
__m256i first_lanes(std::int64_t n) {
  if constexpr (sizeof(T) == 4) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  } else {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
  }
}

template <class T>
void gather_few(const T* from, std::int64_t n, T pad, T* to) {
  const __m256i lanes = first_lanes<T>(n);
  if constexpr (sizeof(T) == 4) {
    const __m256i others = _mm256_set1_epi32(__builtin_bit_cast(int, pad));
    const __m256i values = _mm256_maskload_epi32(reinterpret_cast<const int*>(from), lanes);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_blendv_epi8(others, values, lanes));
  } else {
    const __m256i others = _mm256_set1_epi64x(__builtin_bit_cast(long long, pad));
    const __m256i values = _mm256_maskload_epi64(reinterpret_cast<const long long*>(from), lanes);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_blendv_epi8(others, values, lanes));
  }
}
template <class T>
void gather_few_apart(const T* from, std::int64_t n, T pad, T* to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[2 * i];
  std::fill(to + n, to + 32 / sizeof(T), pad);
}
template <class T>
void scatter_few(const T* from, std::int64_t n, T* to) {
  const __m256i lanes = first_lanes<T>(n);
  const __m256i values = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  if constexpr (sizeof(T) == 4) {
    _mm256_maskstore_epi32(reinterpret_cast<int*>(to), lanes, values);
  } else {
    _mm256_maskstore_epi64(reinterpret_cast<long long*>(to), lanes, values);
  }
}

#endif

}  // namespace LM_SIMD_ISA
}  // namespace lamella::cpu
