#pragma once

#include <bit>
#include <cstdint>

#include "ops/simd/hd.h"

namespace lamella::cuda {

/// Divides numbers from 0 on by a divisor above 0: as FastDivide (ops/cuda/fast_divide.h) does, with 64 bits.
struct WideDivide {
  std::int64_t divisor = 1;
  std::uint64_t multiplier = 1;
  std::uint32_t shift = 0;

  WideDivide() = default;
  explicit WideDivide(std::int64_t divisor)
      : divisor(divisor), shift(static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(divisor - 1)))) {
    const auto unsigned_divisor = static_cast<std::uint64_t>(divisor);
    multiplier = static_cast<std::uint64_t>(
        (Product{(std::uint64_t{1} << shift) - unsigned_divisor} << 64) / unsigned_divisor + 1);
  }

  LM_HD std::int64_t quotient(std::int64_t n) const {
    const auto number = static_cast<std::uint64_t>(n);
    const auto high = static_cast<std::uint64_t>((Product{number} * multiplier) >> 64);
    return static_cast<std::int64_t>((high + number) >> shift);
  }

 private:
  using Product = unsigned __int128;
};

}  // namespace lamella::cuda
