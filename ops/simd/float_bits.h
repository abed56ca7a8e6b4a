#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/core/half.h"
#include "ops/simd/complex.h"
#include "ops/simd/mask.h"
#include "ops/simd/native.h"
#include "ops/simd/next_value.h"
#include "ops/simd/vec.h"

namespace lamella::simd {
inline namespace LM_SIMD_ISA {

/// The counterpart of `Vec<T>` for Half and BFloat16, for operations without arithmetic: negation, comparison and
/// selection work on the bits of twice as many numbers as a register of float holds.
template <class T>
class FloatBits {
 public:
  using value_type = T;
  using mask_type = Mask<std::int16_t>;
  using native_type = Native<std::int16_t>;
  static constexpr int size = kVectorBytes / 2;

  FloatBits() = default;
  /// Broadcasts a value to every lane, rounded to `T`.
  template <class U>
    requires std::is_arithmetic_v<U>
  FloatBits(U value) : native_(splat<native_type>(static_cast<std::int16_t>(T(static_cast<float>(value)).bits))) {}
  explicit FloatBits(native_type native) : native_(native) {}

  native_type native() const { return native_; }

  static FloatBits load(const T* from) {
    FloatBits result;
    std::memcpy(&result.native_, from, sizeof(native_type));
    return result;
  }
  void store(T* to) const { std::memcpy(static_cast<void*>(to), &native_, sizeof(native_type)); }

  friend FloatBits operator-(FloatBits a) { return FloatBits(a.native_ ^ kSign); }
  friend FloatBits abs(FloatBits a) { return FloatBits(a.magnitude()); }
  friend FloatBits copysign(FloatBits a, FloatBits b) { return FloatBits(a.magnitude() | (b.native_ & kSign)); }
  friend mask_type signbit(FloatBits a) { return mask(a.native_ < native_type{}); }
  friend mask_type isnan(FloatBits a) { return mask(a.magnitude() > infinity()); }
  friend mask_type isinf(FloatBits a) { return mask(a.magnitude() == infinity()); }
  friend mask_type isfinite(FloatBits a) { return mask(a.magnitude() < infinity()); }
  friend FloatBits where(mask_type chosen, FloatBits a, FloatBits b) {
    return FloatBits(chosen.native() ? a.native_ : b.native_);
  }

  friend mask_type operator==(FloatBits a, FloatBits b) {
    return mask(a.ordered() == b.ordered()) & !isnan(a) & !isnan(b);
  }
  friend mask_type operator<(FloatBits a, FloatBits b) {
    return mask(a.ordered() < b.ordered()) & !isnan(a) & !isnan(b);
  }
  friend mask_type operator<=(FloatBits a, FloatBits b) {
    return mask(a.ordered() <= b.ordered()) & !isnan(a) & !isnan(b);
  }
  friend mask_type operator!=(FloatBits a, FloatBits b) { return !(a == b); }
  friend mask_type operator>(FloatBits a, FloatBits b) { return b < a; }
  friend mask_type operator>=(FloatBits a, FloatBits b) { return b <= a; }

  friend FloatBits maximum(FloatBits a, FloatBits b) { return where(isnan(a) | (a > b), a, b); }
  friend FloatBits minimum(FloatBits a, FloatBits b) { return where(isnan(a) | (a < b), a, b); }
  friend FloatBits sign(FloatBits a) { return where(a > 0, 1, where(a < 0, -1, where(a == 0, 0, a))); }
  friend FloatBits nextafter(FloatBits a, FloatBits b) {
    const FloatBits next(next_bits(a.native_, b.native_));
    return where(isnan(a), a, where(isnan(b), b, next));
  }

 private:
  static constexpr std::int16_t kSign = -0x8000;
  static constexpr std::int16_t kMagnitude = 0x7fff;
  static constexpr std::int16_t kInfinity = std::is_same_v<T, Half> ? 0x7c00 : 0x7f80;

  static native_type infinity() { return splat<native_type>(kInfinity); }
  template <class V>
  static mask_type mask(V native) {
    return mask_type(reinterpret_cast<typename mask_type::native_type>(native));
  }
  native_type magnitude() const { return native_ & kMagnitude; }
  /// Returns integers in the order of the numbers; both zeros give the same one.
  native_type ordered() const { return native_ < native_type{} ? -magnitude() : native_; }

  native_type native_;
};

template <>
struct OperandOf<Vec, Half> {
  using type = FloatBits<Half>;
  using part = Half;
};
template <>
struct OperandOf<Vec, BFloat16> {
  using type = FloatBits<BFloat16>;
  using part = BFloat16;
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
