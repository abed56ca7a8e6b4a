#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "engine/core/half.h"

// Elements as unsigned integers of the same order, so that one sort serves all dtypes: NaN is the largest, and a
// descending order is the order of the complements.

namespace lamella::sorting {

template <class T>
using Key = std::conditional_t<(sizeof(T) > 4), std::uint64_t, std::uint32_t>;

template <std::unsigned_integral U>
constexpr U flip_float_bits(U bits) {
  constexpr U kSign = U{1} << (8 * sizeof(U) - 1);
  // All bits of a negative number, the sign of another.
  return bits & kSign ? static_cast<U>(~bits) : static_cast<U>(bits | kSign);
}
template <std::unsigned_integral U>
constexpr U unflip_float_bits(U key) {
  constexpr U kSign = U{1} << (8 * sizeof(U) - 1);
  return key & kSign ? static_cast<U>(key ^ kSign) : static_cast<U>(~key);
}

template <class T>
inline constexpr bool kIsSmallFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <class T>
constexpr bool is_nan(T x) {
  if constexpr (kIsSmallFloat<T>) {
    const auto value = static_cast<float>(x);
    return value != value;
  } else {
    return x != x;
  }
}

/// The key of a value; with kZeros, that of -0 lies before that of 0, otherwise they are the same.
template <bool kZeros = false, class T>
constexpr Key<T> key_of(T x) {
  if constexpr (kIsSmallFloat<T>) {
    const auto value = static_cast<float>(x);
    if (value != value) return 0xffffu;
    return flip_float_bits(!kZeros && value == 0 ? std::uint16_t{0} : x.bits);
  } else if constexpr (std::is_floating_point_v<T>) {
    // By masks: loops over vectors can be made of it, which a branch has none of.
    using K = Key<T>;
    constexpr K kSign = K{1} << (8 * sizeof(K) - 1);
    constexpr K kInfinity = std::bit_cast<K>(std::numeric_limits<T>::infinity());
    K bits = std::bit_cast<K>(x);
    const K magnitude = bits & ~kSign;
    if constexpr (!kZeros) bits &= K{0} - static_cast<K>(magnitude != 0);
    const K ordered = bits ^ ((K{0} - (bits >> (8 * sizeof(K) - 1))) | kSign);
    return ordered | (K{0} - static_cast<K>(magnitude > kInfinity));
  } else if constexpr (std::is_signed_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<U>(static_cast<U>(x) ^ (U{1} << (8 * sizeof(T) - 1)));
  } else {
    return static_cast<Key<T>>(x);
  }
}

/// The value of key_of<true>(); NaN for the key of all NaNs.
template <class T>
constexpr T value_of(Key<T> key) {
  if constexpr (kIsSmallFloat<T>) {
    T x;
    x.bits = unflip_float_bits(static_cast<std::uint16_t>(key));
    return x;
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<T>(unflip_float_bits(key));
  } else if constexpr (std::is_signed_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(key) ^ (U{1} << (8 * sizeof(T) - 1)));
  } else {
    return static_cast<T>(key);
  }
}

/// A key and where it stands: smaller ones first, of equal ones the first.
template <class K>
struct Ranked;
template <>
struct Ranked<std::uint32_t> {
  std::uint64_t bits;
  static Ranked make(std::uint32_t key, std::int64_t index) {
    return {std::uint64_t{key} << 32 | static_cast<std::uint64_t>(index)};
  }
  std::uint32_t key() const { return static_cast<std::uint32_t>(bits >> 32); }
  std::int64_t index() const { return static_cast<std::int64_t>(bits & 0xffffffffu); }
  friend bool operator<(Ranked a, Ranked b) { return a.bits < b.bits; }
};
template <>
struct Ranked<std::uint64_t> {
  std::uint64_t bits;
  std::int64_t at;
  static Ranked make(std::uint64_t key, std::int64_t index) { return {key, index}; }
  std::uint64_t key() const { return bits; }
  std::int64_t index() const { return at; }
  friend bool operator<(Ranked a, Ranked b) { return a.bits != b.bits ? a.bits < b.bits : a.at < b.at; }
};

/// What a row of keys may be at most, for positions to fit beside them.
inline constexpr std::int64_t kMostRanked = std::int64_t{1} << 32;

}  // namespace lamella::sorting
