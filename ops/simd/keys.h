#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "engine/core/half.h"

// Elements as unsigned integers of the same order, so that one sort serves all dtypes. NaN is the largest; descending
// order is the order of the complements.

namespace lamella::sorting {

template <class T>
using Key = std::conditional_t<(sizeof(T) > 4), std::uint64_t, std::uint32_t>;

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

/// The bits of a small float's infinity.
template <class T>
inline constexpr std::uint16_t kInfinityBits = std::is_same_v<T, Half> ? 0x7c00 : 0x7f80;

/// Returns the key of a float. Uses masks, because loops with branches are not vectorized.
template <bool kZeros, std::unsigned_integral U>
constexpr U float_key(U bits, U infinity) {
  constexpr int kTop = 8 * sizeof(U) - 1;
  constexpr U kSign = U{1} << kTop;
  constexpr U kAll = std::numeric_limits<U>::max();
  const auto all_where = [](bool holds) { return static_cast<U>(0 - static_cast<U>(holds)); };
  const auto magnitude = static_cast<U>(bits & (kAll ^ kSign));
  if constexpr (!kZeros) bits &= all_where(magnitude != 0);
  // Flips all bits of a negative number, the sign bit of others.
  const auto ordered = static_cast<U>(bits ^ (all_where(bits >> kTop) | kSign));
  return ordered | all_where(magnitude > infinity);
}

/// Returns the key of a value. With kZeros, -0 comes before 0; otherwise they have the same key.
template <bool kZeros = false, class T>
constexpr Key<T> key_of(T x) {
  if constexpr (kIsSmallFloat<T>) {
    return float_key<kZeros>(x.bits, kInfinityBits<T>);
  } else if constexpr (std::is_floating_point_v<T>) {
    return float_key<kZeros>(std::bit_cast<Key<T>>(x), std::bit_cast<Key<T>>(std::numeric_limits<T>::infinity()));
  } else if constexpr (std::is_signed_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<U>(static_cast<U>(x) ^ (U{1} << (8 * sizeof(T) - 1)));
  } else {
    return static_cast<Key<T>>(x);
  }
}

/// Returns the value of a key_of<true>(); a NaN for the key of all NaNs.
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

/// A key with its position, ordered by key, then by position.
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

/// Largest length of a row whose positions fit beside the keys.
inline constexpr std::int64_t kMostRanked = std::int64_t{1} << 32;

}  // namespace lamella::sorting
