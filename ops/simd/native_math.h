#pragma once

#include <cstdint>

#include "ops/simd/any_lane.h"
#include "ops/simd/intrinsics.h"
#include "ops/simd/native.h"
#include "ops/simd/native_sqrt.h"
#include "ops/simd/next_value.h"

#if defined(__x86_64__) && defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 35)
#define LM_SIMD_LIBMVEC
#endif
#endif

/// The mathematical functions on the compiler's vectors; docs/decisions/vector-math.md gives the method of each and the
/// reason.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {
namespace native_math {

using F32 = Native<float>;
using F64 = Native<double>;

template <class V>
V abs(V a) {
  using Bits = decltype(a < a);
  using Element = std::remove_cvref_t<decltype(a[0])>;
  const Bits sign = reinterpret_cast<Bits>(splat<V>(-Element{0}));
  return reinterpret_cast<V>(reinterpret_cast<Bits>(a) & ~sign);
}

template <class V>
V copysign(V a, V b) {
  using Bits = decltype(a < a);
  using Element = std::remove_cvref_t<decltype(a[0])>;
  const Bits sign = reinterpret_cast<Bits>(splat<V>(-Element{0}));
  return reinterpret_cast<V>((reinterpret_cast<Bits>(a) & ~sign) | (reinterpret_cast<Bits>(b) & sign));
}

/// Returns the next number after a in the direction of b.
template <class V>
V nextafter(V a, V b) {
  using Bits = decltype(a < a);
  const V next = reinterpret_cast<V>(next_bits(reinterpret_cast<Bits>(a), reinterpret_cast<Bits>(b)));
  return ((a != a) | (b != b)) ? a + b : next;
}

/// Returns the larger operand, or the smaller one; b if they are equal or one is NaN. One instruction, which the
/// compiler does not find by itself.
template <bool kMax, class V>
V extreme(V a, V b) {
#if LM_SIMD_BYTES == 64 && defined(__AVX512F__)
  if constexpr (std::is_same_v<V, F32>) {
    return kMax ? V(_mm512_maskz_max_ps(0xffff, a, b)) : V(_mm512_maskz_min_ps(0xffff, a, b));
  } else {
    return kMax ? V(_mm512_maskz_max_pd(0xff, a, b)) : V(_mm512_maskz_min_pd(0xff, a, b));
  }
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<V, F32>) {
    return kMax ? V(_mm256_max_ps(a, b)) : V(_mm256_min_ps(a, b));
  } else {
    return kMax ? V(_mm256_max_pd(a, b)) : V(_mm256_min_pd(a, b));
  }
#else
  return kMax ? (a > b ? a : b) : (a < b ? a : b);
#endif
}

#if defined(__AVX512F__) && LM_SIMD_BYTES == 64
// Masked forms with all lanes set: the plain forms read an undefined register in g++ 12, which then warns about it.
template <int kMode>
F32 round_to(F32 a) {
  return _mm512_maskz_roundscale_ps(0xffff, a, kMode);
}
template <int kMode>
F64 round_to(F64 a) {
  return _mm512_maskz_roundscale_pd(0xff, a, kMode);
}
#elif defined(__AVX2__)
inline F32 sqrt(F32 a) { return _mm256_sqrt_ps(a); }
inline F64 sqrt(F64 a) { return _mm256_sqrt_pd(a); }
template <int kMode>
F32 round_to(F32 a) {
  return _mm256_round_ps(a, kMode);
}
template <int kMode>
F64 round_to(F64 a) {
  return _mm256_round_pd(a, kMode);
}
#elif defined(__SSE4_1__)
inline F32 sqrt(F32 a) { return _mm_sqrt_ps(a); }
inline F64 sqrt(F64 a) { return _mm_sqrt_pd(a); }
template <int kMode>
F32 round_to(F32 a) {
  return _mm_round_ps(a, kMode);
}
template <int kMode>
F64 round_to(F64 a) {
  return _mm_round_pd(a, kMode);
}
#elif defined(__aarch64__)
inline F32 sqrt(F32 a) { return vsqrtq_f32(a); }
inline F64 sqrt(F64 a) { return vsqrtq_f64(a); }
inline F32 floor(F32 a) { return vrndmq_f32(a); }
inline F64 floor(F64 a) { return vrndmq_f64(a); }
inline F32 ceil(F32 a) { return vrndpq_f32(a); }
inline F64 ceil(F64 a) { return vrndpq_f64(a); }
inline F32 trunc(F32 a) { return vrndq_f32(a); }
inline F64 trunc(F64 a) { return vrndq_f64(a); }
inline F32 round(F32 a) { return vrndnq_f32(a); }
inline F64 round(F64 a) { return vrndnq_f64(a); }
#else
inline F32 sqrt(F32 a) {
  return map_lanes(a, [](float x) { return __builtin_sqrtf(x); });
}
inline F64 sqrt(F64 a) {
  return map_lanes(a, [](double x) { return __builtin_sqrt(x); });
}
#define LM_SIMD_ROUND_BY_LANE
#endif

#ifdef __SSE4_1__
template <class V>
V floor(V a) {
  return round_to < _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC > (a);
}
template <class V>
V ceil(V a) {
  return round_to < _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC > (a);
}
template <class V>
V trunc(V a) {
  return round_to < _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC > (a);
}
template <class V>
V round(V a) {
  return round_to < _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC > (a);
}
#endif

// LM_SIMD_BY_LANE(name, builtin) applies the C function to each lane.
// LM_SIMD_UNARY(name) and LM_SIMD_BINARY(name) use glibc's vector function if there is one, else they work by lane. A
// vector function is named _ZGV<set>N<lanes>v_<name>; it is declared here because glibc's headers offer it to loops
// under -ffast-math only.
#define LM_SIMD_BY_LANE(name, builtin)                                                          \
  inline F32 name(F32 a) {                                                                      \
    return map_lanes(a, [](float x) { return static_cast<float>(__builtin_##builtin##f(x)); }); \
  }                                                                                             \
  inline F64 name(F64 a) {                                                                      \
    return map_lanes(a, [](double x) { return static_cast<double>(__builtin_##builtin(x)); });  \
  }
#define LM_SIMD_BY_LANE_2(name)                                                         \
  inline F32 name(F32 a, F32 b) {                                                       \
    return map_lanes(a, b, [](float x, float y) { return __builtin_##name##f(x, y); }); \
  }                                                                                     \
  inline F64 name(F64 a, F64 b) {                                                       \
    return map_lanes(a, b, [](double x, double y) { return __builtin_##name(x, y); });  \
  }

#ifdef LM_SIMD_LIBMVEC
#if LM_SIMD_BYTES == 64
#define LM_SIMD_MVEC_F32(kinds, name) _ZGVeN16##kinds##_##name##f
#define LM_SIMD_MVEC_F64(kinds, name) _ZGVeN8##kinds##_##name
#elif LM_SIMD_BYTES == 32
#define LM_SIMD_MVEC_F32(kinds, name) _ZGVdN8##kinds##_##name##f
#define LM_SIMD_MVEC_F64(kinds, name) _ZGVdN4##kinds##_##name
#else
#define LM_SIMD_MVEC_F32(kinds, name) _ZGVbN4##kinds##_##name##f
#define LM_SIMD_MVEC_F64(kinds, name) _ZGVbN2##kinds##_##name
#endif
#define LM_SIMD_UNARY(name)                                       \
  extern "C" F32 LM_SIMD_MVEC_F32(v, name)(F32);                  \
  extern "C" F64 LM_SIMD_MVEC_F64(v, name)(F64);                  \
  inline F32 name(F32 a) { return LM_SIMD_MVEC_F32(v, name)(a); } \
  inline F64 name(F64 a) { return LM_SIMD_MVEC_F64(v, name)(a); }
#define LM_SIMD_BINARY(name)                                                 \
  extern "C" F32 LM_SIMD_MVEC_F32(vv, name)(F32, F32);                       \
  extern "C" F64 LM_SIMD_MVEC_F64(vv, name)(F64, F64);                       \
  inline F32 name(F32 a, F32 b) { return LM_SIMD_MVEC_F32(vv, name)(a, b); } \
  inline F64 name(F64 a, F64 b) { return LM_SIMD_MVEC_F64(vv, name)(a, b); }
#else
#define LM_SIMD_UNARY(name) LM_SIMD_BY_LANE(name, name)
#define LM_SIMD_BINARY(name) LM_SIMD_BY_LANE_2(name)
#endif

#ifdef LM_SIMD_ROUND_BY_LANE
LM_SIMD_BY_LANE(floor, floor)
LM_SIMD_BY_LANE(ceil, ceil)
LM_SIMD_BY_LANE(trunc, trunc)
LM_SIMD_BY_LANE(round, rint)
#endif
#ifndef LM_SIMD_FUSED
LM_SIMD_BY_LANE_2(fmod)
#endif

LM_SIMD_UNARY(exp)
LM_SIMD_UNARY(exp2)
LM_SIMD_UNARY(expm1)
LM_SIMD_UNARY(log)
LM_SIMD_UNARY(log1p)
LM_SIMD_UNARY(log2)
LM_SIMD_UNARY(log10)
LM_SIMD_UNARY(sin)
LM_SIMD_UNARY(cos)
LM_SIMD_UNARY(tan)
LM_SIMD_UNARY(asin)
LM_SIMD_UNARY(acos)
LM_SIMD_UNARY(atan)
LM_SIMD_UNARY(sinh)
LM_SIMD_UNARY(cosh)
LM_SIMD_UNARY(tanh)
LM_SIMD_UNARY(asinh)
LM_SIMD_UNARY(acosh)
LM_SIMD_UNARY(atanh)
LM_SIMD_UNARY(erf)
LM_SIMD_UNARY(erfc)
LM_SIMD_BINARY(pow)
LM_SIMD_BINARY(atan2)
LM_SIMD_BINARY(hypot)

#ifdef LM_SIMD_FUSED
/// Returns a b + c, rounded once.
#if defined(__aarch64__)
inline F32 fused(F32 a, F32 b, F32 c) { return vfmaq_f32(c, a, b); }
inline F64 fused(F64 a, F64 b, F64 c) { return vfmaq_f64(c, a, b); }
#elif LM_SIMD_BYTES == 64
inline F32 fused(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a, b, c); }
inline F64 fused(F64 a, F64 b, F64 c) { return _mm512_fmadd_pd(a, b, c); }
#else
inline F32 fused(F32 a, F32 b, F32 c) { return _mm256_fmadd_ps(a, b, c); }
inline F64 fused(F64 a, F64 b, F64 c) { return _mm256_fmadd_pd(a, b, c); }
#endif

#endif

/// Returns a b + c, rounded once if there is an instruction for it.
template <class V>
V multiply_add(V a, V b, V c) {
#ifdef LM_SIMD_FUSED
  return fused(a, b, c);
#else
  return a * b + c;
#endif
}

#ifdef LM_SIMD_FUSED
/// Exact: the truncated rounded quotient is never below the true truncated one, and at most one above. So the
/// remainder, which is smaller than b, is a float, and so is the one that is b smaller.
template <class V>
V fmod(V a, V b) {
  using Element = std::remove_cvref_t<decltype(a[0])>;
  constexpr Element kMostExact = sizeof(Element) == 4 ? Element(0x1p22) : Element(0x1p51);
  const V quotient = trunc(a / b);
  // False also for NaN, for infinities, and for a divisor of 0.
  const auto usual = (abs(quotient) <= splat<V>(kMostExact)) & (abs(b) < splat<V>(Element(__builtin_inf())));
  using Truth = Native<std::conditional_t<sizeof(Element) == 4, std::int32_t, std::int64_t>>;
  if (any_lane(reinterpret_cast<Truth>(~usual))) {
    return map_lanes(a, b, [](Element x, Element y) {
      if constexpr (sizeof(Element) == 4) {
        return __builtin_fmodf(x, y);
      } else {
        return __builtin_fmod(x, y);
      }
    });
  }
  const V rest = fused(-quotient, b, a);
  const V none = splat<V>(Element{0});
  const auto beyond = (rest != none) & ((rest < none) ^ (a < none));
  return copysign(beyond ? rest + copysign(b, a) : rest, a);
}
#endif

#undef LM_SIMD_UNARY
#undef LM_SIMD_BINARY
#undef LM_SIMD_BY_LANE
#undef LM_SIMD_BY_LANE_2
#undef LM_SIMD_MVEC_F32
#undef LM_SIMD_MVEC_F64

}  // namespace native_math
}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
