#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <type_traits>

#include "engine/runtime/philox.h"
#include "ops/simd/hd.h"

// Conversion of Philox words to numbers, the same on every device.

namespace lamella::random {

/// The distribution of a fill and its part of the stream.
struct Fill {
  enum class Kind : std::uint8_t { Uniform, Normal, Exponential, Integer, Coin };
  Kind kind;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  double low = 0;   ///< lower bound, or the mean
  double high = 1;  ///< upper bound, or the standard deviation, or the mean of an exponential distribution
  /// Largest uniform number: the one below `high`, which rounding might reach.
  double top = 1;
  /// Number of random bits of a uniform number in float32, at most 24.
  int bits = 24;
  std::int64_t first = 0;
  /// Number of integers to choose from; for a coin, the number of cases out of 2^32 in which it is true.
  std::uint64_t range = 1;
};

/// Number of elements per counter. Doubles and integers take two words each.
inline constexpr std::int64_t kFloatsPerBlock = 4;
inline constexpr std::int64_t kDoublesPerBlock = 2;
inline constexpr std::int64_t kIntegersPerBlock = 2;
inline constexpr std::int64_t kCoinsPerBlock = 4;
template <class T>
inline constexpr std::int64_t kPerBlock = std::is_same_v<T, float>    ? kFloatsPerBlock
                                          : std::is_same_v<T, bool>   ? kCoinsPerBlock
                                          : std::is_same_v<T, double> ? kDoublesPerBlock
                                                                      : kIntegersPerBlock;

/// Returns a multiple of 2^-bits in [0, 1), for at most 24 bits.
constexpr float unit_float(std::uint32_t word, int bits = 24) {
  return static_cast<float>(word >> (32 - bits)) / static_cast<float>(1 << bits);
}
/// Returns a multiple of 2^-53 in [0, 1).
constexpr double unit_double(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>(((std::uint64_t{high} << 32) | low) >> 11) * 0x1p-53;
}
/// Returns an integer in [0, range): the upper half of a 128-bit product (Lemire, 2019, without the rejection: the
/// error is below range / 2^64).
constexpr std::uint64_t below(std::uint32_t high, std::uint32_t low, std::uint64_t range) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{(std::uint64_t{high} << 32) | low} * range) >> 64);
}

/// Returns a + b * c, rounded twice on every device; CUDA might otherwise fuse the operations.
template <class T>
LM_HD T scaled(T a, T b, T c) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<T, float>) {
    return a + __fmul_rn(b, c);
  } else {
    return a + __dmul_rn(b, c);
  }
#else
  return a + b * c;
#endif
}

/// Returns a value in [low, high).
template <class T>
LM_HD T scale_uniform(T unit, const Fill& fill) {
  const T value = scaled(static_cast<T>(fill.low), unit, static_cast<T>(fill.high - fill.low));
  return value < static_cast<T>(fill.top) ? value : static_cast<T>(fill.top);
}

/// Returns an exponential number of mean 1 from a uniform one u, as -log(1 - u); half of the smallest step replaces 0,
/// which the distribution excludes.
template <class T>
LM_HD T exponential_of(T unit) {
  return unit == 0 ? static_cast<T>(sizeof(T) == 4 ? 0x1p-25 : 0x1p-54) : -std::log(1 - unit);
}

/// Returns two normal numbers from two uniform ones; 1 - u is in (0, 1], where the logarithm is finite.
template <class T>
LM_HD std::array<T, 2> box_muller(T u, T v) {
  const T radius = std::sqrt(-2 * std::log(1 - u));
  const T angle = 2 * std::numbers::pi_v<T> * v;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

/// Returns the elements that counter `block` of a fill gives.
template <class T>
LM_HD std::array<T, kPerBlock<T>> values_of(const Fill& fill, std::uint64_t block) {
  const Philox::Block w = Philox::at(fill.seed, fill.offset + block);
  std::array<T, kPerBlock<T>> values;
  if constexpr (std::is_same_v<T, bool>) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = w[i] < fill.range;
  } else if constexpr (!std::is_floating_point_v<T>) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<T>(static_cast<std::uint64_t>(fill.first) + below(w[2 * i], w[2 * i + 1], fill.range));
    }
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (sizeof(T) == 4) {
        values[i] = unit_float(w[i], fill.bits);
      } else {
        values[i] = unit_double(w[2 * i], w[2 * i + 1]);
      }
    }
    if (fill.kind == Fill::Kind::Uniform) {
      for (T& value : values) value = scale_uniform(value, fill);
    } else if (fill.kind == Fill::Kind::Exponential) {
      for (T& value : values) value = exponential_of(value) * static_cast<T>(fill.high);
    } else {
      for (std::size_t i = 0; i < values.size(); i += 2) {
        const std::array<T, 2> pair = box_muller(values[i], values[i + 1]);
        for (std::size_t k = 0; k < 2; ++k)
          values[i + k] = scaled(static_cast<T>(fill.low), static_cast<T>(fill.high), pair[k]);
      }
    }
  }
  return values;
}

}  // namespace lamella::random
