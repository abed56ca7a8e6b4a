#pragma once

#include <bit>
#include <cstdint>

#include "ops/simd/hd.h"

namespace lamella::cuda {

/// Divides 32-bit numbers below 2^31 by a divisor that is fixed before the kernel starts, with a product, an addition
/// and a shift.
///
/// With s = ceil(log2 d) and m = floor(2^32 (2^s - d) / d) + 1, n / d = (floor(n m / 2^32) + n) >> s for all n, d <
/// 2^31, and the sum stays below 2^32 (Granlund and Montgomery, 1994, "Division by invariant integers using
/// multiplication", figure 4.1).
struct FastDivide {
  std::uint32_t divisor = 1;
  std::uint32_t multiplier = 1;
  std::uint32_t shift = 0;

  FastDivide() = default;
  /// Requires a divisor from 1 to 2^31 - 1.
  explicit FastDivide(std::uint32_t divisor)
      : divisor(divisor), shift(static_cast<std::uint32_t>(std::bit_width(divisor - 1))) {
    multiplier = static_cast<std::uint32_t>((((std::uint64_t{1} << shift) - divisor) << 32) / divisor + 1);
  }

  LM_HD std::uint32_t quotient(std::uint32_t n) const {
    const auto high = static_cast<std::uint32_t>((std::uint64_t{n} * multiplier) >> 32);
    return (high + n) >> shift;
  }
};

}  // namespace lamella::cuda
