#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/simd/hd.h"

// Mantissa and exponent of a number, the same on every device.

namespace lamella {

/// Splits a number into mantissa and exponent; a normal number by its bits.
template <class T>
LM_HD T split_float(T value, int& exponent) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr int kDigits = std::numeric_limits<T>::digits - 1;
  constexpr int kBias = std::numeric_limits<T>::max_exponent - 1;
  constexpr Bits kPowers = (Bits{2} * kBias + 1) << kDigits;
  const auto bits = std::bit_cast<Bits>(value);
  const int power = static_cast<int>((bits & kPowers) >> kDigits);
  if (power != 0 && power <= 2 * kBias) [[likely]] {
    exponent = power - kBias + 1;
    return std::bit_cast<T>((bits & ~kPowers) | (Bits{kBias - 1} << kDigits));
  }
  const T mantissa = std::frexp(value, &exponent);
  if (!std::isfinite(value)) exponent = 0;
  return mantissa;
}

/// Returns 2^n, which must be a normal number.
template <class T>
LM_HD T power_of_two(int n) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(static_cast<Bits>(n + std::numeric_limits<T>::max_exponent - 1)
                          << (std::numeric_limits<T>::digits - 1));
}

}  // namespace lamella
