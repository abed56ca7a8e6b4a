#pragma once

#include "ops/simd/any_lane.h"
#include "ops/simd/formulas.h"
#include "ops/simd/integer.h"
#include "ops/simd/mask.h"
#include "ops/simd/native.h"
#include "ops/simd/native_erf.h"
#include "ops/simd/native_everywhere.h"
#include "ops/simd/native_lgamma.h"
#include "ops/simd/native_math.h"

/// The functions of `Vec<T>`, by the kind of `T`.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {

template <class T>
struct VecFloatFunctions : FloatFormulas<Vec<T>, Mask<T>, T> {
  using V = Vec<T>;

  friend V abs(V a) { return V(native_math::abs(a.native())); }
  /// Return the larger operand, or the smaller one; b if they are equal or one is NaN.
  friend V larger(V a, V b) { return V(native_math::extreme<true>(a.native(), b.native())); }
  friend V smaller(V a, V b) { return V(native_math::extreme<false>(a.native(), b.native())); }
  friend V copysign(V a, V sign) { return V(native_math::copysign(a.native(), sign.native())); }
  friend V sqrt(V a) { return V(native_math::sqrt(a.native())); }
#ifdef LM_SIMD_FUSED
  /// Returns a b + c, rounded once.
  friend V multiply_add(V a, V b, V c) { return V(native_math::fused(a.native(), b.native(), c.native())); }
#endif
  friend V floor(V a) { return V(native_math::floor(a.native())); }
  friend V ceil(V a) { return V(native_math::ceil(a.native())); }
  friend V trunc(V a) { return V(native_math::trunc(a.native())); }
  /// Rounds to the nearest integer, ties to even.
  friend V round(V a) { return V(native_math::round(a.native())); }
  /// Returns the remainder of the truncated quotient, with the sign of `a`.
  friend V fmod(V a, V b) { return V(native_math::fmod(a.native(), b.native())); }

  friend V exp(V a) { return V(native_math::everywhere::exp(a.native())); }
  friend V exp2(V a) { return V(native_math::everywhere::exp2(a.native())); }
  friend V expm1(V a) { return V(native_math::everywhere::expm1(a.native())); }
  friend V log(V a) { return V(native_math::everywhere::log(a.native())); }
  friend V log1p(V a) { return V(native_math::everywhere::log1p(a.native())); }
  friend V log2(V a) { return V(native_math::everywhere::log2(a.native())); }
  friend V log10(V a) { return V(native_math::everywhere::log10(a.native())); }
  friend V sin(V a) { return V(native_math::sin(a.native())); }
  friend V cos(V a) { return V(native_math::cos(a.native())); }
  friend V tan(V a) { return V(native_math::tan(a.native())); }
  friend V asin(V a) { return V(native_math::everywhere::asin(a.native())); }
  friend V acos(V a) { return V(native_math::everywhere::acos(a.native())); }
  friend V atan(V a) { return V(native_math::atan(a.native())); }
  friend V sinh(V a) { return V(native_math::everywhere::sinh(a.native())); }
  friend V cosh(V a) { return V(native_math::everywhere::cosh(a.native())); }
  friend V tanh(V a) { return V(native_math::everywhere::tanh(a.native())); }
  friend V asinh(V a) { return V(native_math::asinh(a.native())); }
  friend V acosh(V a) { return V(native_math::everywhere::acosh(a.native())); }
  friend V atanh(V a) { return V(native_math::everywhere::atanh(a.native())); }
  friend V erf(V a) { return V(native_math::error_function(a.native())); }
  friend V erfc(V a) { return V(native_math::everywhere::erfc(a.native())); }
  friend V lgamma(V a) { return V(native_math::lgamma(a.native())); }
  friend V nextafter(V a, V b) { return V(native_math::nextafter(a.native(), b.native())); }
  friend V pow(V a, V b) {
    // Common exponents are replaced by cheaper operations: for each lane, and without the function if all lanes have
    // the same one.
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    const auto root = [&] { return where(a == -kInfinity, kInfinity, sqrt(a + T(0))); };
    const auto inverse_root = [&] { return where(a == -kInfinity, 0, 1 / sqrt(a + T(0))); };
    const auto inverse_square = [&] {
      const V inverse = 1 / a;  // its square is accurate to rounding where that of a would be denormal
      return inverse * inverse;
    };
    const T first = b[0];
    if (!any_lane((b != V(first)).native())) {
      if (first == 2) return a * a;
      if (first == 3) return a * a * a;
      if (first == 1) return a;
      if (first == -1) return 1 / a;
      if (first == -2) return inverse_square();
      if (first == T(0.5)) return root();
      if (first == T(-0.5)) return inverse_root();
    }
    V y(native_math::everywhere::pow(a.native(), b.native()));
    if (!any_lane(((floor(b + b) == b + b) & (abs(b) <= 3)).native())) return y;
    y = where(b == 2, a * a, y);
    y = where(b == 3, a * a * a, y);
    y = where(b == 1, a, y);
    y = where(b == -1, 1 / a, y);
    y = where(b == -2, inverse_square(), y);
    y = where(b == T(0.5), root(), y);
    return where(b == T(-0.5), inverse_root(), y);
  }
  friend V atan2(V a, V b) { return V(native_math::atan2(a.native(), b.native())); }
  friend V hypot(V a, V b) { return V(native_math::everywhere::hypot(a.native(), b.native())); }
};

template <class T>
struct VecIntegerFunctions : IntegerFormulas<Vec<T>, Mask<T>, T> {
  using V = Vec<T>;

  friend V fmod(V a, V b) { return where(b == 0, 0, a - a / b * b); }
  friend V floor_divide(V a, V b) {
    const V quotient = a / b;
    if constexpr (std::is_signed_v<T>) {
      const V rest = a - quotient * b;
      return where((b != 0) & (rest != 0) & ((rest < 0) ^ (b < 0)), quotient - 1, quotient);
    } else {
      return quotient;
    }
  }
  friend V remainder(V a, V b) {
    const V rest = fmod(a, b);
    if constexpr (std::is_signed_v<T>) {
      return where((rest != 0) & ((rest < 0) ^ (b < 0)), rest + b, rest);
    } else {
      return rest;
    }
  }
  friend V pow(V a, V b) { return V(map_lanes(a.native(), b.native(), integer_power<T>)); }
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
