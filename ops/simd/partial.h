#pragma once

#include <cstdint>
#include <type_traits>

#include "ops/simd/intrinsics.h"
#include "ops/simd/native.h"

/// Loads and stores of a vector's first lanes that do not touch the memory behind them. Going through an array costs
/// ten times as much: a vector load must wait for the stores of single numbers.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {

/// True if there are such instructions for numbers of this size.
template <class T>
inline constexpr bool kHasPartial =
#if defined(__AVX512BW__)
    sizeof(T) <= 8;
#elif defined(__AVX2__)
    sizeof(T) == 4 || sizeof(T) == 8;
#else
    false;
#endif

#if defined(__AVX512BW__)

/// Loads the first n lanes; the others are those of `pad`.
template <class T>
Native<T> load_first(const T* from, int n, Native<T> pad) {
  const auto other = reinterpret_cast<__m512i>(pad);
  const std::uint64_t mask = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(n));
  if constexpr (sizeof(T) == 1) {
    return reinterpret_cast<Native<T>>(_mm512_mask_loadu_epi8(other, mask, from));
  } else if constexpr (sizeof(T) == 2) {
    return reinterpret_cast<Native<T>>(_mm512_mask_loadu_epi16(other, static_cast<__mmask32>(mask), from));
  } else if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Native<T>>(_mm512_mask_loadu_epi32(other, static_cast<__mmask16>(mask), from));
  } else {
    return reinterpret_cast<Native<T>>(_mm512_mask_loadu_epi64(other, static_cast<__mmask8>(mask), from));
  }
}
/// Writes the first n lanes.
template <class T>
void store_first(T* to, int n, Native<T> value) {
  const auto lanes = reinterpret_cast<__m512i>(value);
  const std::uint64_t mask = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(n));
  if constexpr (sizeof(T) == 1) {
    _mm512_mask_storeu_epi8(to, mask, lanes);
  } else if constexpr (sizeof(T) == 2) {
    _mm512_mask_storeu_epi16(to, static_cast<__mmask32>(mask), lanes);
  } else if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask), lanes);
  } else {
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask), lanes);
  }
}

#elif defined(__AVX2__)

/// Returns a mask with all bits set in the first n lanes.
template <class T>
__m256i first_lanes(int n) {
  if constexpr (sizeof(T) == 4) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  } else {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
  }
}
/// Loads the first n lanes; the others are those of `pad`.
template <class T>
Native<T> load_first(const T* from, int n, Native<T> pad) {
  const __m256i mask = first_lanes<T>(n);
  __m256i lanes;
  if constexpr (sizeof(T) == 4) {
    lanes = _mm256_maskload_epi32(reinterpret_cast<const int*>(from), mask);
  } else {
    lanes = _mm256_maskload_epi64(reinterpret_cast<const long long*>(from), mask);
  }
  return reinterpret_cast<Native<T>>(_mm256_blendv_epi8(reinterpret_cast<__m256i>(pad), lanes, mask));
}
/// Writes the first n lanes.
template <class T>
void store_first(T* to, int n, Native<T> value) {
  if constexpr (sizeof(T) == 4) {
    _mm256_maskstore_epi32(reinterpret_cast<int*>(to), first_lanes<T>(n), reinterpret_cast<__m256i>(value));
  } else {
    _mm256_maskstore_epi64(reinterpret_cast<long long*>(to), first_lanes<T>(n), reinterpret_cast<__m256i>(value));
  }
}

#endif

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
