#pragma once

#include <cstdint>
#include <type_traits>

#include "ops/simd/hd.h"
#include "ops/simd/isa.h"

/// Integer arithmetic that is defined for every input: it wraps on overflow and never traps.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {

/// The element types that have arithmetic, and the integers among them.
template <class T>
concept Number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
template <class T>
concept Integer = Number<T> && std::is_integral_v<T>;

/// The unsigned type to compute on: as wide as `T`, but no narrower than `unsigned`, which would be promoted to `int`.
template <class T>
using Unsigned = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;

template <class T>
LM_HD constexpr T wrapping_add(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
}

template <class T>
LM_HD constexpr T wrapping_subtract(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
}

template <class T>
LM_HD constexpr T wrapping_multiply(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
}

/// Returns the quotient rounded towards zero; 0 for a divisor of 0; the lowest value divided by -1 wraps to itself.
template <class T>
LM_HD constexpr T truncated_divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return wrapping_subtract(T{0}, a);
  }
  return static_cast<T>(a / b);
}

/// Returns the remainder of `truncated_divide`, with the sign of `a`, as C's `%` does; 0 for a divisor of 0.
template <class T>
LM_HD constexpr T truncated_remainder(T a, T b) {
  return b == 0 ? T{0} : wrapping_subtract(a, wrapping_multiply(truncated_divide(a, b), b));
}

/// Returns the quotient rounded towards minus infinity, as Python's `//` does; 0 for a divisor of 0.
template <class T>
LM_HD constexpr T floor_divide(T a, T b) {
  const T quotient = truncated_divide(a, b);
  if constexpr (std::is_signed_v<T>) {
    const bool inexact = b != 0 && wrapping_multiply(quotient, b) != a;
    if (inexact && (a < 0) != (b < 0)) return static_cast<T>(quotient - 1);
  }
  return quotient;
}

/// Returns the remainder of `floor_divide`, with the sign of the divisor, as Python's `%` does; 0 for a divisor of 0.
template <class T>
LM_HD constexpr T floor_remainder(T a, T b) {
  return b == 0 ? T{0} : wrapping_subtract(a, wrapping_multiply(floor_divide(a, b), b));
}

/// Returns `base` to the power `exponent`, wrapping. A negative exponent gives 1 / base**-exponent rounded towards zero
/// (0 for a base of 0).
template <class T>
LM_HD constexpr T integer_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      if (base == -1) return exponent % 2 == 0 ? T{1} : T{-1};
      return 0;
    }
  }
  T result = 1;
  for (; exponent != 0; exponent = static_cast<T>(exponent / 2)) {
    if (exponent % 2 != 0) result = wrapping_multiply(result, base);
    base = wrapping_multiply(base, base);
  }
  return result;
}

/// True if a value of `T` can be shifted by `bits`, which is neither negative nor the width of `T` or more.
template <class T>
LM_HD constexpr bool is_shift_width(T bits) {
  return static_cast<Unsigned<T>>(bits) < 8 * sizeof(T);
}

/// Returns `a * 2**bits`, wrapping; 0 if `bits` is negative or reaches the width of `T`.
template <class T>
LM_HD constexpr T shift_left(T a, T bits) {
  if (!is_shift_width(bits)) return 0;
  return static_cast<T>(static_cast<Unsigned<T>>(a) << bits);
}

/// Returns `a / 2**bits` rounded down; 0, or -1 for a negative `a`, if `bits` is negative or reaches the width of `T`.
template <class T>
LM_HD constexpr T shift_right(T a, T bits) {
  if (is_shift_width(bits)) return static_cast<T>(a >> bits);
  if constexpr (std::is_signed_v<T>) return a < 0 ? static_cast<T>(-1) : T{0};
  return 0;
}

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
