#pragma once

#include <concepts>
#include <cstdint>

#include "engine/core/half.h"
#include "ops/simd/complex.h"
#include "ops/simd/lane.h"

namespace lamella::cuda {

/// The operand type of formulas on a Half or BFloat16 that must not be rounded to it: the counterpart of `Lane<T>` on
/// the bits of the number.
template <class T>
class LaneBits {
 public:
  using value_type = T;
  using mask_type = simd::LaneMask<T>;
  static constexpr int size = 1;

  LaneBits() = default;
  LM_HD explicit LaneBits(T value) : value_(value) {}

  LM_HD void store(T* to) const { *to = value_; }

  /// One step of an integer that increases with the number: sign and magnitude as a signed integer.
  LM_HD friend LaneBits nextafter(LaneBits a, LaneBits b) {
    if (a.is_nan()) return a;
    if (b.is_nan()) return b;
    const int from = a.ordered();
    const int to = b.ordered();
    if (from == to) return b;
    const int next = to > from ? from + 1 : from - 1;
    const bool negative = next < 0 || (next == 0 && from < 0);
    T stepped;
    stepped.bits = static_cast<std::uint16_t>((next < 0 ? -next : next) | (negative ? kSign : 0));
    return LaneBits(stepped);
  }

 private:
  static constexpr int kSign = 0x8000;
  static constexpr int kInfinity = std::same_as<T, Half> ? 0x7c00 : 0x7f80;

  LM_HD int magnitude() const { return value_.bits & (kSign - 1); }
  LM_HD bool is_nan() const { return magnitude() > kInfinity; }
  LM_HD int ordered() const { return value_.bits & kSign ? -magnitude() : magnitude(); }

  T value_;
};

}  // namespace lamella::cuda

namespace lamella::simd {
inline namespace LM_SIMD_ISA {

template <>
struct OperandOf<Lane, Half> {
  using type = lamella::cuda::LaneBits<Half>;
  using part = Half;
};
template <>
struct OperandOf<Lane, BFloat16> {
  using type = lamella::cuda::LaneBits<BFloat16>;
  using part = BFloat16;
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
