#pragma once

#include <type_traits>

#include "ops/simd/hd.h"

namespace lamella {

/// Returns the greatest common divisor of two integers by Euclid's algorithm, or their least common multiple.
template <class T>
LM_HD T divisor_or_multiple_of(T first, T second, bool multiple) {
  // Unsigned, because the magnitude of the smallest signed number is not representable.
  using U = std::make_unsigned_t<T>;
  const auto magnitude = [](T x) {
    if constexpr (std::is_signed_v<T>) {
      return static_cast<U>(x < 0 ? U(0) - static_cast<U>(x) : static_cast<U>(x));
    } else {
      return x;
    }
  };
  U a = magnitude(first);
  U b = magnitude(second);
  while (b != 0) {
    const U rest = static_cast<U>(a % b);
    a = b;
    b = rest;
  }
  if (!multiple || a == 0) return static_cast<T>(a);
  return static_cast<T>(static_cast<U>(magnitude(first) / a * magnitude(second)));
}

}  // namespace lamella
