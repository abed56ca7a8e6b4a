#pragma once

#include <iterator>

#include "ops/simd/intrinsics.h"
#include "ops/simd/native_math.h"
#include "ops/simd/pick_of_16.h"

#if defined(__AVX512F__) && LM_SIMD_BYTES == 64

/// The logarithm on x86-64-v4.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {
namespace native_math {

/// For 16 parts of [3/4, 3/2), selected by the first four bits of the significand: the inverse c of a number near the
/// middle, and -log(c). They were searched for such that -log(c) has few bits, a multiple of 2^-42 (float: 2^-15) to
/// 2^-62 (2^-31), so that log(c) + n ln(2) is exact. Next to 1 they are 1 and 0. The coefficients of q follow, even and
/// odd.
template <class T>
struct Log;
template <>
struct Log<double> {
  using V = F64;
  alignas(64) static constexpr double kInverse[] = {
      1.0,
      0x1.d420ea5e8p-1,
      0x1.bad210f2p-1,
      0x1.a41a37a28p-1,
      0x1.8f9ed56dp-1,
      0x1.7cffba44p-1,
      0x1.6c15d925p-1,
      0x1.5c9e8d1a8p-1,
      0x1.4e5c131a4p+0,
      0x1.4142faf9p+0,
      0x1.351e10734p+0,
      0x1.29e1a500cp+0,
      0x1.1f6dab47cp+0,
      0x1.15b296874p+0,
      0x1.0c98b3268p+0,
      1.0,
  };
  alignas(64) static constexpr double kOfInverse[] = {
      0.0,
      0x1.6eed26137cp-4,
      0x1.2949a12b18p-3,
      0x1.9525da9716p-3,
      0x1.fb8381138ep-3,
      0x1.2e9ee73a51p-2,
      0x1.5d1e693e41p-2,
      0x1.89917a1597p-2,
      -0x1.1172e29e5ap-2,
      -0x1.d10e7f1226p-3,
      -0x1.8223432a1ep-3,
      -0x1.364f195516p-3,
      -0x1.da4d3ecb6cp-4,
      -0x1.4d3b4219bcp-4,
      -0x1.897bf93a3p-5,
      0.0,
  };
  /// Accurate to 2e-17 of r.
  static constexpr double kEven[] = {-0.088438003098305575693, -0.12501840186501160048, -0.1666666587050709831,
                                     -0.25000000000093232648, -0.49999999999999997153};
  static constexpr double kOdd[] = {0.11081914723017121707, 0.14285791383196180008, 0.19999999953281802306,
                                    0.33333333333340288847};
  static constexpr double kLn2 = 0x1.62e42fefa38p-1;  // rounded to 42 bits
  static constexpr double kLn2Rest = 5.4979230187083711747e-14;

  static V significand(V a) { return _mm512_maskz_getmant_pd(0xff, a, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan); }
  static V exponent(V a) { return _mm512_maskz_getexp_pd(0xff, a); }
  static V plus_one_below_one(V n, V m) {
    const V one = splat<V>(1.0);
    return _mm512_mask_add_pd(n, _mm512_cmp_pd_mask(m, one, _CMP_LT_OQ), n, one);
  }
  static __m512i part(V m) { return _mm512_maskz_srli_epi64(0xff, reinterpret_cast<__m512i>(m), 48); }
};
template <>
struct Log<float> {
  using V = F32;
  alignas(64) static constexpr float kInverse[] = {
      1.0f,           0x1.d3f2e2p-1f, 0x1.b9cd86p-1f, 0x1.a48136p-1f, 0x1.90325cp-1f, 0x1.7ba99ep-1f,
      0x1.6a906ap-1f, 0x1.5bc826p-1f, 0x1.4d53b6p+0f, 0x1.426beap+0f, 0x1.369e7cp+0f, 0x1.2a6fdep+0f,
      0x1.1f36dep+0f, 0x1.147d58p+0f, 0x1.0deb82p+0f, 1.0f,
  };
  alignas(64) static constexpr float kOfInverse[] = {
      0.0f,          0x1.708p-4f,  0x1.2ep-3f,   0x1.933p-3f,  0x1.f89p-3f,  0x1.3238p-2f, 0x1.6168p-2f, 0x1.8c08p-2f,
      -0x1.0e48p-2f, -0x1.d87p-3f, -0x1.8c1p-3f, -0x1.3a2p-3f, -0x1.d74p-4f, -0x1.3b6p-4f, -0x1.b1cp-5f, 0.0f,
  };
  /// Accurate to 1e-10 of r.
  static constexpr float kEven[] = {-0.1562616984f, -0.2500121486f, -0.4999999981f};
  static constexpr float kOdd[] = {0.2000515974f, 0.333333359f};
  static constexpr float kLn2 = 0x1.62e4p-1f;  // rounded to 15 bits
  static constexpr float kLn2Rest = 1.42860682031e-6f;

  static V significand(V a) { return _mm512_maskz_getmant_ps(0xffff, a, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan); }
  static V exponent(V a) { return _mm512_maskz_getexp_ps(0xffff, a); }
  static V plus_one_below_one(V n, V m) {
    const V one = splat<V>(1.0f);
    return _mm512_mask_add_ps(n, _mm512_cmp_ps_mask(m, one, _CMP_LT_OQ), n, one);
  }
  static __m512i part(V m) { return _mm512_maskz_srli_epi32(0xffff, reinterpret_cast<__m512i>(m), 19); }
};

/// log(a) = n ln(2) - log(c) + log(1 + r) for a = 2^n m and 1 + r = c m, where the first two terms are summed without
/// rounding and log(1 + r) = r + r^2 q(r) for -1/32 <= r <= 1/16. Also right at both ends of its domain and beyond,
/// where n is infinite or m NaN.
template <class V>
V natural_logarithm(V a) {
  using T = std::remove_cvref_t<decltype(a[0])>;
  using L = Log<T>;
  const V m = L::significand(a);
  const V n = L::plus_one_below_one(L::exponent(a), m);
  const auto part = L::part(m);
  const V r = fused(m, pick_of_16(L::kInverse, part), splat<V>(T{-1}));
  const V square = r * r;
  // Two independent chains, to hide the latency.
  V even = splat<V>(L::kEven[0]);
  V odd = splat<V>(L::kOdd[0]);
  for (std::size_t k = 1; k < std::size(L::kEven); ++k) even = fused(even, square, splat<V>(L::kEven[k]));
  for (std::size_t k = 1; k < std::size(L::kOdd); ++k) odd = fused(odd, square, splat<V>(L::kOdd[k]));
  const V rest = fused(fused(odd, r, even), square, n * splat<V>(L::kLn2Rest));
  return fused(n, splat<V>(L::kLn2), pick_of_16(L::kOfInverse, part)) + (r + rest);
}

}  // namespace native_math
}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd

#endif
