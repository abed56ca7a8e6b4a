#pragma once

#include "ops/simd/intrinsics.h"
#include "ops/simd/native.h"

#if defined(__AVX512F__) && LM_SIMD_BYTES == 64

/// Square roots on x86-64-v4, rounded like the instruction, which occupies its unit for 12 cycles (float) and 24
/// (double). Goldschmidt's iteration from an estimate to 14 bits (P. Markstein, IA-64 and Elementary Functions, 2000,
/// chapter 9) takes half as long.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {
namespace native_math {

template <class T>
struct SquareRoot;

// Masked forms with all lanes set: the plain forms read an undefined register in g++ 12, which then warns about it.
template <>
struct SquareRoot<float> {
  using V = Native<float>;
  static V instruction(V a) { return _mm512_maskz_sqrt_ps(0xffff, a); }
  static V inverse_estimate(V a) { return _mm512_maskz_rsqrt14_ps(0xffff, a); }
  /// Return a * b + c and c - a * b, rounded once.
  static V sum(V a, V b, V c) { return _mm512_maskz_fmadd_ps(0xffff, a, b, c); }
  static V difference(V a, V b, V c) { return _mm512_maskz_fnmadd_ps(0xffff, a, b, c); }
  static V select(__mmask16 mask, V a, V b) { return _mm512_mask_mov_ps(b, mask, a); }
  static __mmask16 not_zero(V a) { return _mm512_cmp_ps_mask(a, V{}, _CMP_NEQ_UQ); }
  /// Returns the lanes of a mask that are not between 2^-60 and 2^120.
  static __mmask16 outside(__mmask16 mask, V a) {
    const auto above = reinterpret_cast<Native<std::uint32_t>>(a) - splat<Native<std::uint32_t>>(0x21800000U);
    return _mm512_mask_cmpge_epu32_mask(mask, reinterpret_cast<__m512i>(above), _mm512_set1_epi32(0x5a000000));
  }
};
template <>
struct SquareRoot<double> {
  using V = Native<double>;
  static V instruction(V a) { return _mm512_maskz_sqrt_pd(0xff, a); }
  static V inverse_estimate(V a) { return _mm512_maskz_rsqrt14_pd(0xff, a); }
  static V sum(V a, V b, V c) { return _mm512_maskz_fmadd_pd(0xff, a, b, c); }
  static V difference(V a, V b, V c) { return _mm512_maskz_fnmadd_pd(0xff, a, b, c); }
  static V select(__mmask8 mask, V a, V b) { return _mm512_mask_mov_pd(b, mask, a); }
  static __mmask8 not_zero(V a) { return _mm512_cmp_pd_mask(a, V{}, _CMP_NEQ_UQ); }
  /// Returns the lanes of a mask that are not between 2^-895 and 2^897.
  static __mmask8 outside(__mmask8 mask, V a) {
    const auto above = reinterpret_cast<Native<std::uint64_t>>(a) - splat<Native<std::uint64_t>>(0x0800000000000000U);
    return _mm512_mask_cmpge_epu64_mask(mask, reinterpret_cast<__m512i>(above), _mm512_set1_epi64(0x7000000000000000));
  }
};

/// Vectors with numbers that are negative, not finite, or might underflow are left to the instruction. All other floats
/// are rounded correctly: the estimate is defined to the bit, and the tests try all significands. For doubles, vectors
/// with a wrong root are left to the instruction, too: one in which a is not within root * ulp(root) of the root's
/// square.
template <class T>
Native<T> square_root(Native<T> a) {
  using Of = SquareRoot<T>;
  using V = Native<T>;
  using Bits = Native<std::int64_t>;
  const auto numbers = Of::not_zero(a);
  auto unusual = Of::outside(numbers, a);
  V root = a * Of::inverse_estimate(a);
  V inverse = splat<V>(T{0.5}) * Of::inverse_estimate(a);
  // Refines from 14 bits to 27; for doubles to 42, by the next term of the series of (1 - 2 error)^(-1/2).
  V error = Of::difference(root, inverse, splat<V>(T{0.5}));
  if constexpr (sizeof(T) == 8) error = error * Of::sum(error, splat<V>(1.5), splat<V>(1.0));
  root = Of::sum(root, error, root);
  inverse = Of::sum(inverse, error, inverse);
  root = Of::sum(Of::difference(root, root, a), inverse, root);
  if constexpr (sizeof(T) == 8) {
    const Bits rest = reinterpret_cast<Bits>(Of::difference(root, root, a));
    // The exponent alone is the power of two below the root; minus 52 it is that of the last bit.
    const Bits power = reinterpret_cast<Bits>(root) & splat<Bits>(0x7ff0000000000000);
    const V bound = root * reinterpret_cast<V>(power - splat<Bits>(std::int64_t{52} << 52));
    const V distance = reinterpret_cast<V>(rest & splat<Bits>(0x7fffffffffffffff));
    unusual |= _mm512_mask_cmp_pd_mask(numbers, distance, bound, _CMP_GT_OQ);
  }
  if (unusual != 0) [[unlikely]]
    return Of::instruction(a);
  return Of::select(numbers, root, a);
}

inline Native<float> sqrt(Native<float> a) { return square_root<float>(a); }
inline Native<double> sqrt(Native<double> a) { return square_root<double>(a); }

}  // namespace native_math
}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd

#endif
