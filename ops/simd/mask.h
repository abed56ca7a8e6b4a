#pragma once

#include <concepts>
#include <cstdint>

#include "ops/simd/any_lane.h"
#include "ops/simd/bool_bytes.h"
#include "ops/simd/native.h"

namespace lamella::simd {
inline namespace LM_SIMD_ISA {

template <class T>
class Vec;

/// The result of comparing two `Vec<T>`: true or false in each lane. In memory it is an array of `bool`.
template <class T>
class Mask {
 public:
  using value_type = bool;
  using mask_type = Mask;
  using native_type = Native<LaneMaskInt<T>>;
  static constexpr int size = kVectorBytes / static_cast<int>(sizeof(T));

  Mask() = default;
  /// Broadcasts a value to every lane.
  template <std::same_as<bool> B>
  Mask(B value) : native_(LaneMaskInt<T>{value} != native_type{}) {}
  /// Takes -1 or 0 in each lane.
  explicit Mask(native_type native) : native_(native) {}

  native_type native() const { return native_; }
  bool operator[](int lane) const { return native_[lane] != 0; }

  /// Reads `size` values; no alignment is required.
  static Mask load(const bool* from) { return Mask(mask_from_bytes<native_type>(from)); }
  /// Reads every `stride`-th value.
  static Mask load_strided(const bool* from, std::int64_t stride) {
    return load_strided_partial(from, stride, size, false);
  }
  /// Reads `n` values, at most `size`; the other lanes are `pad`.
  static Mask load_partial(const bool* from, int n, bool pad) { return load_strided_partial(from, 1, n, pad); }
  [[gnu::noinline]] static Mask load_strided_partial(const bool* from, std::int64_t stride, int n, bool pad) {
    bool lanes[size];
    for (int i = 0; i < size; ++i) lanes[i] = i < n ? from[i * stride] : pad;
    return load(lanes);
  }

  /// Writes `size` values.
  void store(bool* to) const { mask_to_bytes(native_, to); }
  void store_strided(bool* to, std::int64_t stride) const { store_strided_partial(to, stride, size); }
  /// Writes the first `n` lanes.
  void store_partial(bool* to, int n) const { store_strided_partial(to, 1, n); }
  [[gnu::noinline]] void store_strided_partial(bool* to, std::int64_t stride, int n) const {
    bool lanes[size];
    store(lanes);
    for (int i = 0; i < n; ++i) to[i * stride] = lanes[i];
  }

  friend Mask operator&(Mask a, Mask b) { return Mask(a.native_ & b.native_); }
  friend Mask operator|(Mask a, Mask b) { return Mask(a.native_ | b.native_); }
  friend Mask operator^(Mask a, Mask b) { return Mask(a.native_ ^ b.native_); }
  friend Mask operator!(Mask a) { return Mask(~a.native_); }
  friend Mask operator~(Mask a) { return !a; }
  friend Mask operator==(Mask a, Mask b) { return Mask(~(a.native_ ^ b.native_)); }
  friend Mask operator!=(Mask a, Mask b) { return a ^ b; }

  /// True if any lane is true.
  friend bool any(Mask a) { return any_lane(a.native_); }

  /// Returns `a` where `mask` is true, else `b`: a selection of bits, so that a NaN or an infinity in the other operand
  /// has no effect.
  friend Vec<T> where(Mask mask, Vec<T> a, Vec<T> b) { return Vec<T>(mask.native_ ? a.native() : b.native()); }

 private:
  native_type native_;
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
