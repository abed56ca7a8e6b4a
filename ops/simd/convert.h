#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "engine/core/half.h"
#include "ops/simd/hd.h"

// The conversion of one element, the same on every device.

namespace lamella {

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<std::complex<T>> = true;
template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// Converts `from` to To. To bool by comparison with 0; from floating to integer by truncation, saturating, with NaN
/// converted to 0.
template <class To, class From>
LM_HD constexpr To convert(From from) {
  if constexpr (kIsHalf<From>) {
    return convert<To>(static_cast<float>(from));
  } else if constexpr (kIsHalf<To>) {
    return To(convert<float>(from));
  } else if constexpr (std::is_same_v<To, bool>) {
    return from != From{};
  } else if constexpr (kIsComplex<From> && kIsComplex<To>) {
    using Part = typename To::value_type;
    return To(static_cast<Part>(from.real()), static_cast<Part>(from.imag()));
  } else if constexpr (kIsComplex<From>) {
    return convert<To>(from.real());
  } else if constexpr (kIsComplex<To>) {
    return To(static_cast<typename To::value_type>(from));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // The bounds are powers of two or 0, hence exact in From. Comparisons with NaN are false.
    constexpr To kLowest = std::numeric_limits<To>::min();
    constexpr To kHighest = std::numeric_limits<To>::max();
    constexpr From kLow = static_cast<From>(kLowest);
    constexpr From kHigh = static_cast<From>(kHighest / 2 + 1) * 2;
    if (!(from > kLow)) return from <= kLow ? kLowest : To{0};
    if (from >= kHigh) return kHighest;
    return static_cast<To>(from);
  } else {
    return static_cast<To>(from);
  }
}

/// The widest type of T's kind, which holds every value of T.
template <class T>
using Middle = std::conditional_t<
    kIsComplex<T>, std::complex<double>,
    std::conditional_t<std::is_floating_point_v<T> || kIsHalf<T>, double,
                       std::conditional_t<std::is_same_v<T, std::uint64_t>, std::uint64_t, std::int64_t>>>;

}  // namespace lamella
