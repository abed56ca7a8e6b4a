#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "engine/runtime/philox.h"

// Numbers from Philox words, the same on every device.

namespace lamella::random {

/// Which numbers a fill makes, and from which part of the stream.
struct Fill {
  enum class Kind : std::uint8_t { Uniform, Normal, Integer };
  Kind kind;
  std::uint64_t seed;
  std::uint64_t offset;
  double low = 0;   ///< or the mean
  double high = 1;  ///< or the standard deviation
  std::int64_t first = 0;
  std::uint64_t range = 1;
};

/// Elements that one counter gives. Doubles and integers take two words each.
inline constexpr std::int64_t kFloatsPerBlock = 4;
inline constexpr std::int64_t kDoublesPerBlock = 2;
inline constexpr std::int64_t kIntegersPerBlock = 2;

/// In [0, 1), a multiple of 2^-24.
constexpr float unit_float(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
/// In [0, 1), a multiple of 2^-53.
constexpr double unit_double(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>(((std::uint64_t{high} << 32) | low) >> 11) * 0x1p-53;
}
/// In [0, range): the upper half of a 128-bit product (Lemire, 2019, without the rejection: the error is below range / 2^64).
constexpr std::uint64_t below(std::uint32_t high, std::uint32_t low, std::uint64_t range) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{(std::uint64_t{high} << 32) | low} * range) >> 64);
}

}  // namespace lamella::random
