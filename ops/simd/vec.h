#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ops/simd/formulas.h"
#include "ops/simd/integer.h"
#include "ops/simd/mask.h"
#include "ops/simd/native.h"
#include "ops/simd/native_divide.h"
#include "ops/simd/partial.h"
#include "ops/simd/special.h"
#include "ops/simd/vec_functions.h"

/// `Vec<T>`: the operand type of a formula in a CPU loop.
///
/// A register of `T`: `float`, `double`, `bool` or an integer of 8 to 64 bits. Operators and functions (`exp(x)`,
/// `where(x > 0, x, 0)`) work lane by lane and are found by argument-dependent lookup; a number converts to a `Vec<T>`,
/// rounded to `T`, so `0.5 * x` stays in `T`. `Lane<T>` is the same interface for one value, `Probe` for none.
///
/// A tail goes through the same code as the body: `load_partial`, the formula, `store_partial`.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {

template <class T>
using FunctionsOf =
    std::conditional_t<std::is_same_v<T, bool>, BoolFormulas<Vec<T>, Mask<T>>,
                       std::conditional_t<std::is_integral_v<T>, VecIntegerFunctions<T>, VecFloatFunctions<T>>>;

template <class T>
class Vec : public FunctionsOf<T> {
 public:
  using value_type = T;
  using mask_type = Mask<T>;
  using native_type = Native<T>;
  static constexpr int size = kVectorBytes / static_cast<int>(sizeof(T));

  Vec() = default;
  /// Broadcasts a value to every lane, rounded to `T`.
  template <class U>
    requires std::is_arithmetic_v<U>
  Vec(U value) : native_(splat<native_type>(static_cast<Element>(static_cast<T>(value)))) {}
  explicit Vec(native_type native) : native_(native) {}

  native_type native() const { return native_; }
  T operator[](int lane) const { return static_cast<T>(native_[lane]); }

  /// Reads `size` values; no alignment beyond that of `T` is required.
  static Vec load(const T* from) {
    Vec result;
    std::memcpy(&result.native_, from, sizeof(native_type));
    return result;
  }
  /// Reads every `stride`-th value, `size` in all. For a stride of 0, `Vec(*from)` is faster.
  static Vec load_strided(const T* from, std::int64_t stride) {
    if constexpr (size <= 16) {
      return gather(from, stride, std::make_integer_sequence<int, size>());
    } else {  // inserting each of so many lanes takes too much code
      return load_strided_partial(from, stride, size, T{});
    }
  }
  /// Reads `n` values, at most `size`; the other lanes are `pad`.
  static Vec load_partial(const T* from, int n, T pad) {
    if constexpr (kHasPartial<T>) {
      return Vec(load_first<T>(from, n, Vec(pad).native_));
    } else {
      return load_strided_partial(from, 1, n, pad);
    }
  }
  [[gnu::noinline]] static Vec load_strided_partial(const T* from, std::int64_t stride, int n, T pad) {
    T lanes[size];
    for (int i = 0; i < size; ++i) lanes[i] = i < n ? from[i * stride] : pad;
    return load(lanes);
  }

  /// Writes `size` values.
  void store(T* to) const { std::memcpy(to, &native_, sizeof(native_type)); }
  void store_strided(T* to, std::int64_t stride) const { store_strided_partial(to, stride, size); }
  /// Writes the first `n` lanes.
  void store_partial(T* to, int n) const {
    if constexpr (kHasPartial<T>) {
      store_first<T>(to, n, native_);
    } else {
      store_strided_partial(to, 1, n);
    }
  }
  [[gnu::noinline]] void store_strided_partial(T* to, std::int64_t stride, int n) const {
    T lanes[size];
    store(lanes);
    for (int i = 0; i < n; ++i) to[i * stride] = lanes[i];
  }

  friend Vec operator+(Vec a, Vec b)
    requires Number<T>
  {
    return of_bits(a.computing() + b.computing());
  }
  friend Vec operator-(Vec a, Vec b)
    requires Number<T>
  {
    return of_bits(a.computing() - b.computing());
  }
  friend Vec operator*(Vec a, Vec b)
    requires Number<T>
  {
    return of_bits(a.computing() * b.computing());
  }
  friend Vec operator/(Vec a, Vec b)
    requires Number<T>
  {
    if constexpr (std::is_floating_point_v<T>) {
      return Vec(a.native_ / b.native_);
    } else {
      return Vec(divided<T>(a.native_, b.native_));
    }
  }
  friend Vec operator-(Vec a)
    requires Number<T>
  {
    return of_bits(-a.computing());
  }

  friend Vec operator&(Vec a, Vec b)
    requires std::is_integral_v<T>
  {
    return Vec(a.native_ & b.native_);
  }
  friend Vec operator|(Vec a, Vec b)
    requires std::is_integral_v<T>
  {
    return Vec(a.native_ | b.native_);
  }
  friend Vec operator^(Vec a, Vec b)
    requires std::is_integral_v<T>
  {
    return Vec(a.native_ ^ b.native_);
  }
  friend Vec operator~(Vec a)
    requires std::is_integral_v<T>
  {
    if constexpr (Number<T>) {
      return Vec(~a.native_);
    } else {
      return Vec(a.native_ ^ 1);
    }
  }
  friend Vec operator<<(Vec a, Vec bits)
    requires Integer<T>
  {
    const auto width = of_bits(bits.computing() & kShiftMask);
    return Vec(bits.shifts() ? of_bits(a.computing() << width.computing()).native_ : native_type{});
  }
  friend Vec operator>>(Vec a, Vec bits)
    requires Integer<T>
  {
    // Beyond the width all bits are copies of the sign.
    const native_type width = bits.shifts() ? bits.native_ : splat<native_type>(static_cast<Element>(kShiftMask));
    if constexpr (std::is_signed_v<T>) {
      return Vec(a.native_ >> width);
    } else {
      return Vec(bits.shifts() ? a.native_ >> width : native_type{});
    }
  }

  friend Mask<T> operator==(Vec a, Vec b) { return mask_of(a.native_ == b.native_); }
  friend Mask<T> operator!=(Vec a, Vec b) { return mask_of(a.native_ != b.native_); }
  friend Mask<T> operator<(Vec a, Vec b) { return mask_of(a.native_ < b.native_); }
  friend Mask<T> operator<=(Vec a, Vec b) { return mask_of(a.native_ <= b.native_); }
  friend Mask<T> operator>(Vec a, Vec b) { return mask_of(a.native_ > b.native_); }
  friend Mask<T> operator>=(Vec a, Vec b) { return mask_of(a.native_ >= b.native_); }
  /// True where the value is zero.
  friend Mask<T> operator!(Vec a) { return a == 0; }

  Vec& operator+=(Vec other) { return *this = *this + other; }
  Vec& operator-=(Vec other) { return *this = *this - other; }
  Vec& operator*=(Vec other) { return *this = *this * other; }
  Vec& operator/=(Vec other) { return *this = *this / other; }

 private:
  using Element = std::remove_cvref_t<decltype(std::declval<native_type>()[0])>;

  template <int... kLane>
  static Vec gather(const T* from, std::int64_t stride, std::integer_sequence<int, kLane...>) {
    return Vec(native_type{static_cast<Element>(from[kLane * stride])...});
  }

  static constexpr std::make_unsigned_t<std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, T, int>>
      kShiftMask = 8 * sizeof(T) - 1;
  /// Returns the lanes that are valid shift widths.
  auto shifts() const { return computing() <= kShiftMask; }

  /// Returns the lanes to compute on: integers as unsigned ones, so that overflow wraps.
  auto computing() const {
    if constexpr (std::is_integral_v<T>) {
      return reinterpret_cast<Native<std::make_unsigned_t<T>>>(native_);
    } else {
      return native_;
    }
  }
  template <class V>
  static Vec of_bits(V native) {
    return Vec(reinterpret_cast<native_type>(native));
  }
  template <class V>
  static Mask<T> mask_of(V native) {
    return Mask<T>(reinterpret_cast<typename Mask<T>::native_type>(native));
  }

  native_type native_;
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
