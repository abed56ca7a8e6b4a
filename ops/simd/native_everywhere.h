#pragma once

#include <limits>
#include <type_traits>

#include "ops/simd/any_lane.h"
#include "ops/simd/native_exp.h"
#include "ops/simd/native_log.h"

/// Functions that are as fast at the ends of their domains and beyond as within: a logarithm of 0, the inverse sine of
/// 2. libmvec calls C's function for each lane with such an argument, which takes 20 times as long as a vector.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {
namespace native_math::everywhere {

template <class V>
using ElementOf = std::remove_cvref_t<decltype(V{}[0])>;
template <class V>
inline constexpr bool kSingle = sizeof(ElementOf<V>) == 4;
template <class V>
inline constexpr ElementOf<V> kInfinity = std::numeric_limits<ElementOf<V>>::infinity();
template <class V>
inline constexpr ElementOf<V> kNaN = std::numeric_limits<ElementOf<V>>::quiet_NaN();
template <class V>
inline constexpr ElementOf<V> kEpsilon = std::numeric_limits<ElementOf<V>>::epsilon();

/// True if a lane is not between two numbers; NaN never is.
template <class V>
bool any_outside(V a, V low, V high) {
#if LM_SIMD_BYTES == 64 && defined(__AVX512F__)
  // Combines the masks directly; any_lane() would convert them to vectors.
  if constexpr (kSingle<V>) {
    return (_mm512_cmp_ps_mask(a, low, _CMP_NGT_UQ) | _mm512_cmp_ps_mask(a, high, _CMP_NLT_UQ)) != 0;
  } else {
    return (_mm512_cmp_pd_mask(a, low, _CMP_NGT_UQ) | _mm512_cmp_pd_mask(a, high, _CMP_NLT_UQ)) != 0;
  }
#else
  return any_lane(~((a > low) & (a < high)));
#endif
}

/// Returns f(a) in lanes where `measure` is between `low` and `high`, and elsewhere() in the others, where f gets
/// `stand_in`.
template <class V, class F, class Elsewhere>
V guarded(V a, V measure, ElementOf<V> low, ElementOf<V> high, ElementOf<V> stand_in, F f, Elsewhere elsewhere) {
#ifdef LM_SIMD_LIBMVEC
  if (any_outside(measure, splat<V>(low), splat<V>(high))) [[unlikely]] {
    const auto usual = (measure > splat<V>(low)) & (measure < splat<V>(high));
    const V y = f(usual ? a : splat<V>(stand_in));
    return usual ? y : elsewhere();
  }
#else
  static_cast<void>(measure);
  static_cast<void>(low);
  static_cast<void>(high);
  static_cast<void>(stand_in);
  static_cast<void>(elsewhere);
#endif
  return f(a);
}

/// Evaluates a logarithm that is finite between `low` and infinity.
template <class V, class F>
V logarithm(V a, ElementOf<V> low, F f) {
  return guarded(a, a, low, kInfinity<V>, ElementOf<V>{1}, f, [=] {
    const V lowest = splat<V>(low);
    return a == lowest ? splat<V>(-kInfinity<V>) : a < lowest ? splat<V>(kNaN<V>) : a;
  });
}
template <class V>
V log(V a) {
#if LM_SIMD_BYTES == 64 && defined(__AVX512F__)
  return natural_logarithm(a);
#else
  return logarithm(a, 0, [](V x) { return native_math::log(x); });
#endif
}
template <class V>
V log2(V a) {
  return logarithm(a, 0, [](V x) { return native_math::log2(x); });
}
template <class V>
V log10(V a) {
  return logarithm(a, 0, [](V x) { return native_math::log10(x); });
}
template <class V>
V log1p(V a) {
  return logarithm(a, -1, [](V x) { return native_math::log1p(x); });
}

/// Evaluates the inverse of a function with values up to 1.
template <class V, class F>
V inverse(V a, F f) {
  return guarded(a, abs(a), -1, 1 + kEpsilon<V>, 0, f, [] { return splat<V>(kNaN<V>); });
}
template <class V>
V asin(V a) {
  return inverse(a, [](V x) { return native_math::asin(x); });
}
template <class V>
V acos(V a) {
  return inverse(a, [](V x) { return native_math::acos(x); });
}
template <class V>
V atanh(V a) {
  const auto of = [](V x) { return native_math::atanh(x); };
  return guarded(a, abs(a), -1, 1, 0, of, [=] {
    return abs(a) == splat<V>(ElementOf<V>{1}) ? copysign(splat<V>(kInfinity<V>), a) : splat<V>(kNaN<V>);
  });
}
template <class V>
V acosh(V a) {
  const auto of = [](V x) { return native_math::acosh(x); };
  return guarded(a, a, 1 - kEpsilon<V> / 2, kInfinity<V>, 2, of,
                 [=] { return a == splat<V>(kInfinity<V>) ? a : splat<V>(kNaN<V>); });
}

/// Evaluates an exponential that is `lowest` up to `low` and infinite from `high` on.
template <class V, class F>
V exponential_of(V a, ElementOf<V> low, ElementOf<V> lowest, ElementOf<V> high, F f) {
  return guarded(a, a, low, high, ElementOf<V>{0}, f, [=] {
    return a <= splat<V>(low) ? splat<V>(lowest) : a >= splat<V>(high) ? splat<V>(kInfinity<V>) : a;
  });
}
/// The argument, rounded up, from which exp() is infinite.
template <class V>
inline constexpr ElementOf<V> kExpEnd = kSingle<V> ? 89 : 710;

template <class V>
V exp(V a) {
#ifdef LM_SIMD_FUSED
  // On v3 libmvec's exp of doubles is faster.
  if constexpr (kSingle<V> || LM_SIMD_BYTES != 32) return exponential(a);
#endif
  const auto of = [](V x) { return native_math::exp(x); };
  return exponential_of(a, kSingle<V> ? -104 : -746, 0, kExpEnd<V>, of);
}
template <class V>
V exp2(V a) {
  const auto of = [](V x) { return native_math::exp2(x); };
  return exponential_of(a, kSingle<V> ? -150 : -1075, 0, kSingle<V> ? 128 : 1024, of);
}
template <class V>
V expm1(V a) {
  return exponential_of(a, -40, -1, kExpEnd<V>, [](V x) { return native_math::expm1(x); });
}

/// The argument from which sinh and cosh are infinite: one more than for exp, because they are halves of it.
template <class V>
inline constexpr ElementOf<V> kHyperbolicEnd = kExpEnd<V> + 1;

template <class V>
V sinh(V a) {
  const auto of = [](V x) { return native_math::sinh(x); };
  return guarded(a, abs(a), -1, kHyperbolicEnd<V>, 0, of,
                 [=] { return a == a ? copysign(splat<V>(kInfinity<V>), a) : a; });
}
template <class V>
V cosh(V a) {
  const auto of = [](V x) { return native_math::cosh(x); };
  return guarded(a, abs(a), -1, kHyperbolicEnd<V>, 0, of, [=] { return a == a ? splat<V>(kInfinity<V>) : a; });
}
template <class V>
V erfc(V a) {
  const V zero = splat<V>(ElementOf<V>{0});
  return guarded(
      a, a, -kInfinity<V>, kSingle<V> ? 11 : 28, 0, [](V x) { return native_math::erfc(x); },
      [=] { return a > zero   ? zero
                   : a < zero ? splat<V>(ElementOf<V>{2})
                              : a; });
}

template <class V>
V tanh(V a) {
#if LM_SIMD_BYTES == 64 && defined(__AVX512F__)
  if constexpr (!kSingle<V>) return hyperbolic_tangent(a);
#endif
  return native_math::tanh(a);
}

/// Infinite if one operand is infinite, whatever the other one is.
template <class V>
V hypot(V a, V b) {
  const V infinity = splat<V>(kInfinity<V>);
  return guarded(
      a, extreme<true>(abs(a), abs(b)), 0, kInfinity<V>, 1, [b](V x) { return native_math::hypot(x, b); },
      [=] { return ((abs(a) == infinity) | (abs(b) == infinity)) ? infinity : abs(a) + abs(b); });
}

#ifdef LM_SIMD_LIBMVEC
/// Returns a to the power b for a that is not negative. Powers of floats that are certain to be infinite or 0 are not
/// computed.
template <class V>
V finite_power(V a, V b) {
  if constexpr (kSingle<V>) {
    using Bits = Native<std::int32_t, sizeof(V)>;
    const Bits bits = reinterpret_cast<Bits>(a);
    const V exponent = __builtin_convertvector((bits >> 23) - 127, V);
    const V most = abs(b) * (abs(exponent) + 1.0f);  // bound of the result's logarithm
    if (any_outside(most, splat<V>(-1.0f), splat<V>(126.0f))) [[unlikely]] {
      // The polynomial approximates log2(1 + f) to 0.00091.
      const V f = reinterpret_cast<V>((bits & 0x7fffff) | 0x3f800000) - 1.0f;
      const V result = b * (exponent + f * (1.4225f + f * (f * 0.1585f - 0.581f)));
      const V slack = 0.001f * abs(b);
      const auto normal = (a >= splat<V>(std::numeric_limits<float>::min())) & (a <= splat<V>(kInfinity<V>));
      const auto over = normal & (result - slack > splat<V>(128.0f));
      const auto under = normal & (result + slack < splat<V>(-150.0f));
      const V one = splat<V>(1.0f);
      const V y = native_math::pow((over | under) ? one : a, b);
      return over ? splat<V>(kInfinity<V>) : under ? V{} : y;
    }
  }
  return native_math::pow(a, b);
}
#endif

/// Returns a to the power b. For negative a, the power of |a| if b is an integer, negated if b is odd.
template <class V>
V pow(V a, V b) {
#ifdef LM_SIMD_LIBMVEC
  using T = ElementOf<V>;
  const V zero = splat<V>(T{0});
  const V infinity = splat<V>(kInfinity<V>);
  if (any_outside(a, zero, infinity)) [[unlikely]] {
    const V magnitude = abs(a);
    V y = finite_power(a == zero ? splat<V>(T{1}) : magnitude, b);
    y = a != zero ? y : b > zero ? zero : b < zero ? infinity : b == b ? y : b;
    const V half = b * splat<V>(T(0.5));
    const auto whole = floor(b) == b;
    y = (whole & (floor(half) != half)) ? copysign(y, a) : y;
    return ((a < zero) & (magnitude < infinity) & ~whole) ? splat<V>(kNaN<V>) : y;
  }
  return finite_power(a, b);
#else
  return native_math::pow(a, b);
#endif
}

}  // namespace native_math::everywhere
}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
