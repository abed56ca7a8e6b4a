#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "ops/simd/any_lane.h"
#include "ops/simd/integer.h"
#include "ops/simd/native.h"
#include "ops/simd/native_math.h"

/// Quotients of integers, for which there is no instruction.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {
namespace native_divide {

// Largest operand magnitudes: a rounded floating-point quotient never reaches the integer above the exact one if both
// operands have two bits fewer than the mantissa. The exact one is at least 1 / b below it, and the rounding is at most
// 2^-2 / b.
inline constexpr std::int32_t kMostInFloat = 1 << 22;
inline constexpr std::int64_t kMostInDouble = std::int64_t{1} << 51;

/// 1.5 * 2^52: added, as bits, to an integer of at most 51 bits, it gives the double of their sum.
inline constexpr double kShift = 6755399441055744.0;
inline constexpr std::int64_t kShiftBits = 0x4338000000000000;

template <class T>
bool exceeds(Native<T> a, T most) {
  if constexpr (std::is_signed_v<T>) {
    return any_lane((a > splat<Native<T>>(most)) | (a < splat<Native<T>>(static_cast<T>(-most))));
  } else {
    return any_lane(a > splat<Native<T>>(most));
  }
}

/// Returns the quotient rounded towards zero; no divisor may be 0 or -1.
template <class T>
  requires(std::is_same_v<T, std::int32_t>)
Native<T> quotient(Native<T> a, Native<T> b) {
  using I = Native<std::int32_t>;
  if (!exceeds<T>(a, kMostInFloat) && !exceeds<T>(b, kMostInFloat)) {
    using F = Native<float>;
    return __builtin_convertvector(__builtin_convertvector(a, F) / __builtin_convertvector(b, F), I);
  }
  using D = Native<double>;
  struct Halves {
    Native<std::int32_t, kVectorBytes / 2> of[2];
  };
  const auto x = std::bit_cast<Halves>(a);
  const auto y = std::bit_cast<Halves>(b);
  Halves q;
  for (int k = 0; k < 2; ++k) {
    const D exact = __builtin_convertvector(x.of[k], D) / __builtin_convertvector(y.of[k], D);
    q.of[k] = __builtin_convertvector(exact, Native<std::int32_t, kVectorBytes / 2>);
  }
  return std::bit_cast<I>(q);
}

template <class T>
  requires(sizeof(T) == 8)
Native<T> quotient(Native<T> a, Native<T> b) {
  constexpr T kMost = static_cast<T>(kMostInDouble);
  if (exceeds<T>(a, kMost) || exceeds<T>(b, kMost)) return map_lanes(a, b, truncated_divide<T>);
  using D = Native<double>;
  using I = Native<std::int64_t>;
  const D shift = splat<D>(kShift);
  const I bits = splat<I>(kShiftBits);
  const D x = reinterpret_cast<D>(reinterpret_cast<I>(a) + bits) - shift;
  const D y = reinterpret_cast<D>(reinterpret_cast<I>(b) + bits) - shift;
  return reinterpret_cast<Native<T>>(reinterpret_cast<I>(native_math::trunc(x / y) + shift) - bits);
}

}  // namespace native_divide

/// Returns `truncated_divide` of each lane.
template <class T>
Native<T> divided(Native<T> a, Native<T> b) {
  using V = Native<T>;
  if constexpr (std::is_same_v<T, std::int32_t> || sizeof(T) == 8) {
    const V none = splat<V>(T{0});
    const V one = splat<V>(T{1});
    V safe = b == none ? one : b;
    if constexpr (std::is_signed_v<T>) {
      const auto negated = b == splat<V>(T{-1});
      safe = negated ? one : safe;
      const V q = native_divide::quotient<T>(a, safe);
      using U = Native<std::make_unsigned_t<T>>;
      return b == none ? none : (negated ? reinterpret_cast<V>(-reinterpret_cast<U>(q)) : q);
    } else {
      return b == none ? none : native_divide::quotient<T>(a, safe);
    }
  } else {
    return map_lanes(a, b, truncated_divide<T>);
  }
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
