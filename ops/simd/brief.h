#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "engine/core/half.h"
#include "ops/simd/intrinsics.h"
#include "ops/simd/mask.h"
#include "ops/simd/native.h"
#include "ops/simd/native_exp.h"
#include "ops/simd/vec.h"

/// Arithmetic on the floating types of 16 bits.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {

/// True if there is a Brief<T>; float16 needs conversion instructions.
#if (LM_SIMD_BYTES >= 32 && defined(__F16C__)) || defined(__aarch64__)
template <class T>
inline constexpr bool kHasBrief = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
#else
template <class T>
inline constexpr bool kHasBrief = std::is_same_v<T, BFloat16>;
#endif

namespace brief {

using F32 = Native<float>;
using Bits = Native<std::uint32_t>;

/// Conversion between numbers of T and two registers of float; rounds to the nearest, ties to even.
template <class T>
struct Registers;

/// Numbers at even positions fill one register, those at odd positions the other, so that nothing moves between lanes.
template <>
struct Registers<BFloat16> {
  static void load(const BFloat16* from, F32 (&parts)[2]) {
    Bits pairs;
    std::memcpy(&pairs, from, sizeof pairs);
    parts[0] = reinterpret_cast<F32>(pairs << 16);
    parts[1] = reinterpret_cast<F32>(pairs & 0xffff0000u);
  }
  static void store(const F32 (&parts)[2], BFloat16* to) {
    const Bits pairs = (rounded(parts[0]) >> 16) | (rounded(parts[1]) & 0xffff0000u);
    std::memcpy(static_cast<void*>(to), &pairs, sizeof pairs);
  }

 private:
  /// Rounds in the upper half; the lower one is undefined. A NaN becomes a quiet one.
  static Bits rounded(F32 x) {
    const Bits bits = reinterpret_cast<Bits>(x);
    const Bits sum = bits + ((bits & 0x10000u) != Bits{} ? splat<Bits>(0x8000u) : splat<Bits>(0x7fffu));
    return x != x ? bits | 0x400000u : sum;
  }
};

#if LM_SIMD_BYTES == 64 && defined(__F16C__)
template <>
struct Registers<Half> {
  static void load(const Half* from, F32 (&parts)[2]) {
    const auto* const halves = reinterpret_cast<const __m256i*>(from);
    for (int k = 0; k < 2; ++k) parts[k] = _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(halves + k));
  }
  static void store(const F32 (&parts)[2], Half* to) {
    auto* const halves = reinterpret_cast<__m256i*>(to);
    for (int k = 0; k < 2; ++k)
      _mm256_storeu_si256(halves + k, _mm512_maskz_cvtps_ph(0xffff, parts[k], _MM_FROUND_TO_NEAREST_INT));
  }
};
#elif LM_SIMD_BYTES == 32 && defined(__F16C__)
template <>
struct Registers<Half> {
  static void load(const Half* from, F32 (&parts)[2]) {
    const auto* const halves = reinterpret_cast<const __m128i*>(from);
    for (int k = 0; k < 2; ++k) parts[k] = _mm256_cvtph_ps(_mm_loadu_si128(halves + k));
  }
  static void store(const F32 (&parts)[2], Half* to) {
    auto* const halves = reinterpret_cast<__m128i*>(to);
    for (int k = 0; k < 2; ++k) _mm_storeu_si128(halves + k, _mm256_cvtps_ph(parts[k], _MM_FROUND_TO_NEAREST_INT));
  }
};
#elif defined(__aarch64__)
template <>
struct Registers<Half> {
  static void load(const Half* from, F32 (&parts)[2]) {
    for (int k = 0; k < 2; ++k) parts[k] = vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&from[4 * k].bits)));
  }
  static void store(const F32 (&parts)[2], Half* to) {
    for (int k = 0; k < 2; ++k) vst1_u16(&to[4 * k].bits, vreinterpret_u16_f16(vcvt_f16_f32(parts[k])));
  }
};
#endif

using native_math::multiply_add;

/// Returns c[0] + c[1] x + ..., with even and odd powers in separate chains of additions, to hide the latency.
template <std::size_t N>
[[gnu::always_inline]] inline F32 polynomial(const float (&c)[N], F32 x) {
  const F32 square = x * x;
  F32 sums[2] = {splat<F32>(c[(N - 1) / 2 * 2]), splat<F32>(c[N / 2 * 2 - 1])};
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((sums[(N - 3 - I) % 2] = multiply_add(sums[(N - 3 - I) % 2], square, splat<F32>(c[N - 3 - I]))), ...);
  }(std::make_index_sequence<N - 2>());
  return multiply_add(sums[1], x, sums[0]);
}

inline constexpr float kPowerOfTwo[] = {0.999999261f, 0.693121815f, 0.240247448f, 0.0559178603f, 0.0095701017f};

/// Below this exponent a power of 2 is taken as 0: even 13 times as much would round to 0 in bfloat16, and most smaller
/// powers are denormal floats, which are slow.
inline constexpr float kLowestPower = -138;

/// Returns 2^y for -200 < y <= 0, to a relative error of 3e-6.
[[gnu::always_inline]] inline F32 power_of_two(F32 y) {
#ifdef LM_SIMD_FUSED
  const F32 n = native_math::round(y);
  return native_math::scaled_above(kLowestPower, y, polynomial(kPowerOfTwo, y - n), n);
#else
  return native_math::exp2(y);
#endif
}

/// Beyond this a, the tail of the standard normal distribution is negligible beside any number of T, also times a.
template <class T>
inline constexpr float kNormalEnd = std::is_same_v<T, BFloat16> ? 13.7f : 6.2f;

inline constexpr float kNormalTail[] = {-9.99986827e-01f, -1.15144181f,     -4.57782835e-01f, -5.48688248e-02f,
                                        9.09806043e-03f,  -1.13979157e-03f, 1.03779093e-04f,  -6.58684439e-06f,
                                        2.74326453e-07f,  -6.70706024e-09f, 7.27323687e-11f};
inline constexpr float kNearNormalTail[] = {-9.99995291e-01f, -1.15125108f,    -4.58464295e-01f, -5.39602153e-02f,
                                            8.50798283e-03f,  -9.3055371e-04f, 6.16026809e-05f,  -1.83506825e-06f};

/// Returns the tail of the standard normal distribution above a, for 0 <= a <= kNormalEnd: 2^p(a) with a minimax
/// polynomial p. Its relative errors are 5e-5 and 8e-6.
template <class T>
[[gnu::always_inline]] inline F32 normal_tail(F32 a) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return power_of_two(polynomial(kNormalTail, a));
  } else {
    return power_of_two(polynomial(kNearNormalTail, a));
  }
}

}  // namespace brief

/// The result of comparing two `Brief<T>`.
class BriefMask {
 public:
  using Part = Mask<float>;
  BriefMask(Part first, Part second) : parts_{first, second} {}

  Part part(int k) const { return parts_[k]; }
  friend BriefMask operator&(BriefMask a, BriefMask b) { return {a.part(0) & b.part(0), a.part(1) & b.part(1)}; }
  friend BriefMask operator|(BriefMask a, BriefMask b) { return {a.part(0) | b.part(0), a.part(1) | b.part(1)}; }
  friend BriefMask operator!(BriefMask a) { return {!a.part(0), !a.part(1)}; }
  friend bool any(BriefMask a) { return any(a.part(0) | a.part(1)); }

 private:
  Part parts_[2];
};

/// The counterpart of `Vec<T>` for Half and BFloat16, as far as it computes: as many numbers as a register holds, as
/// float in two registers, rounded when they are stored. Expensive functions are only as accurate as the result's
/// dtype.
template <class T>
class Brief {
 public:
  using Part = Vec<float>;
  using value_type = T;
  using mask_type = BriefMask;
  static constexpr int size = kVectorBytes / 2;

  Brief() = default;
  /// Broadcasts a value to every lane, as a float.
  template <class U>
    requires std::is_arithmetic_v<U>
  Brief(U value) : parts_{Part(value), Part(value)} {}
  Brief(Part first, Part second) : parts_{first, second} {}

  Part part(int k) const { return parts_[k]; }

  static Brief load(const T* from) {
    brief::F32 parts[2];
    brief::Registers<T>::load(from, parts);
    return Brief(Part(parts[0]), Part(parts[1]));
  }
  void store(T* to) const {
    const brief::F32 parts[2] = {parts_[0].native(), parts_[1].native()};
    brief::Registers<T>::store(parts, to);
  }

  friend Brief operator+(Brief a, Brief b) { return {a.part(0) + b.part(0), a.part(1) + b.part(1)}; }
  friend Brief operator-(Brief a, Brief b) { return {a.part(0) - b.part(0), a.part(1) - b.part(1)}; }
  friend Brief operator*(Brief a, Brief b) { return {a.part(0) * b.part(0), a.part(1) * b.part(1)}; }
  friend Brief operator/(Brief a, Brief b) { return {a.part(0) / b.part(0), a.part(1) / b.part(1)}; }
  friend Brief operator-(Brief a) { return {-a.part(0), -a.part(1)}; }

  friend BriefMask operator<(Brief a, Brief b) { return {a.part(0) < b.part(0), a.part(1) < b.part(1)}; }
  friend BriefMask operator<=(Brief a, Brief b) { return {a.part(0) <= b.part(0), a.part(1) <= b.part(1)}; }
  friend BriefMask operator>(Brief a, Brief b) { return b < a; }
  friend BriefMask operator>=(Brief a, Brief b) { return b <= a; }
  friend Brief where(BriefMask mask, Brief a, Brief b) {
    return {where(mask.part(0), a.part(0), b.part(0)), where(mask.part(1), a.part(1), b.part(1))};
  }

  friend Brief abs(Brief a) { return {abs(a.part(0)), abs(a.part(1))}; }
  friend Brief sqrt(Brief a) { return {sqrt(a.part(0)), sqrt(a.part(1))}; }
  friend Brief floor(Brief a) { return {floor(a.part(0)), floor(a.part(1))}; }
  friend Brief ceil(Brief a) { return {ceil(a.part(0)), ceil(a.part(1))}; }
  friend Brief trunc(Brief a) { return {trunc(a.part(0)), trunc(a.part(1))}; }
  friend Brief round(Brief a) { return {round(a.part(0)), round(a.part(1))}; }
  friend Brief frac(Brief a) { return a - trunc(a); }
  friend Brief pow(Brief a, Brief b) { return {pow(a.part(0), b.part(0)), pow(a.part(1), b.part(1))}; }
  friend Brief maximum(Brief a, Brief b) { return {maximum(a.part(0), b.part(0)), maximum(a.part(1), b.part(1))}; }
  friend Brief minimum(Brief a, Brief b) { return {minimum(a.part(0), b.part(0)), minimum(a.part(1), b.part(1))}; }

  /// erfc(x) is twice the tail of the normal distribution above sqrt(2) x.
  friend Brief erfc(Brief a) {
    const auto of = [](Part x) {
      const Part a = smaller(abs(1.41421356237309504880 * x), brief::kNormalEnd<T>);
      const Part tail = 2 * Part(brief::normal_tail<T>(a.native()));
      return where(x < 0, 2 - tail, where(isnan(x), x, tail));
    };
    return {of(a.part(0)), of(a.part(1))};
  }
  /// Computes max(x, 0) - |x| times the tail of the normal distribution above |x|, which does not cancel for negative
  /// x.
  friend Brief gelu(Brief a) {
    const auto of = [](Part x) {
      // Above 8 the tail is negligible; soon it would be denormal, which is slow.
      const Part a = smaller(larger(-x, smaller(x, 8)), brief::kNormalEnd<T>);
      // larger() returns the NaN if x is NaN.
      return larger(0, x) - a * Part(brief::normal_tail<T>(a.native()));
    };
    return {of(a.part(0)), of(a.part(1))};
  }

 private:
  Part parts_[2];
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
