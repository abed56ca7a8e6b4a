#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "engine/core/dtype.h"

namespace c10 {

/// A floating number of 16 bits that converts and computes like a float: what kernels of PyTorch's extensions expect of
/// at::Half and at::BFloat16. `Storage` is the engine's type of the same bits, which only stores.
///
/// Two of them, and one with an integer, give another; one with a float or a double gives that type. Each result is
/// rounded once.
template <class Storage>
struct ReducedFloat : Storage {
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }

  ReducedFloat() = default;
  constexpr ReducedFloat(float value) noexcept : Storage(value) {}
  constexpr ReducedFloat(const Storage& value) noexcept : Storage(value) {}
  constexpr ReducedFloat(std::uint16_t bits, from_bits_t) noexcept { this->bits = bits; }
  constexpr operator float() const noexcept { return static_cast<float>(static_cast<const Storage&>(*this)); }

  constexpr ReducedFloat operator-() const noexcept { return -as_float(); }
  constexpr ReducedFloat& operator+=(ReducedFloat x) noexcept { return *this = as_float() + x.as_float(); }
  constexpr ReducedFloat& operator-=(ReducedFloat x) noexcept { return *this = as_float() - x.as_float(); }
  constexpr ReducedFloat& operator*=(ReducedFloat x) noexcept { return *this = as_float() * x.as_float(); }
  constexpr ReducedFloat& operator/=(ReducedFloat x) noexcept { return *this = as_float() / x.as_float(); }

  friend constexpr ReducedFloat operator+(ReducedFloat a, ReducedFloat b) noexcept { return a += b; }
  friend constexpr ReducedFloat operator-(ReducedFloat a, ReducedFloat b) noexcept { return a -= b; }
  friend constexpr ReducedFloat operator*(ReducedFloat a, ReducedFloat b) noexcept { return a *= b; }
  friend constexpr ReducedFloat operator/(ReducedFloat a, ReducedFloat b) noexcept { return a /= b; }

 private:
  constexpr float as_float() const noexcept { return *this; }

  /// The type of a result with a number: the number's, if it is a floating one.
  template <class T>
  using With = std::conditional_t<std::is_floating_point_v<T>, T, ReducedFloat>;
  template <class T>
  using Computed = std::conditional_t<std::is_floating_point_v<T>, T, float>;
  template <class T>
  static constexpr Computed<T> number(T x) noexcept {
    return static_cast<Computed<T>>(x);
  }

  template <class T>
    requires std::is_arithmetic_v<T>
  friend constexpr With<T> operator+(ReducedFloat a, T b) noexcept {
    return a.as_float() + number(b);
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  friend constexpr With<T> operator-(ReducedFloat a, T b) noexcept {
    return a.as_float() - number(b);
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  friend constexpr With<T> operator*(ReducedFloat a, T b) noexcept {
    return a.as_float() * number(b);
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  friend constexpr With<T> operator/(ReducedFloat a, T b) noexcept {
    return a.as_float() / number(b);
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  friend constexpr With<T> operator+(T a, ReducedFloat b) noexcept {
    return number(a) + b.as_float();
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  friend constexpr With<T> operator-(T a, ReducedFloat b) noexcept {
    return number(a) - b.as_float();
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  friend constexpr With<T> operator*(T a, ReducedFloat b) noexcept {
    return number(a) * b.as_float();
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  friend constexpr With<T> operator/(T a, ReducedFloat b) noexcept {
    return number(a) / b.as_float();
  }
};

using Half = ReducedFloat<lamella::Half>;
using BFloat16 = ReducedFloat<lamella::BFloat16>;
static_assert(sizeof(Half) == 2 && sizeof(BFloat16) == 2 && std::is_trivially_copyable_v<Half>);

namespace detail {
/// Limits of a format of 16 bits, by the bits of its numbers.
template <class T, int Digits, int Exponent, std::uint16_t Smallest, std::uint16_t Largest, std::uint16_t Epsilon,
          std::uint16_t Infinity, std::uint16_t Nan>
struct ReducedLimits {
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
  static constexpr bool is_iec559 = true, is_bounded = true, is_modulo = false, traps = false;
  static constexpr bool tinyness_before = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2, digits = Digits, digits10 = (Digits - 1) * 3 / 10;
  static constexpr int max_digits10 = Digits * 3 / 10 + 2;
  static constexpr int max_exponent = Exponent, min_exponent = 3 - Exponent;
  static constexpr int max_exponent10 = Exponent * 3 / 10, min_exponent10 = -(Exponent - 3) * 3 / 10;

  static constexpr T of_bits(std::uint16_t bits) noexcept { return T(bits, T::from_bits()); }
  static constexpr T min() noexcept { return of_bits(Smallest); }
  static constexpr T max() noexcept { return of_bits(Largest); }
  static constexpr T lowest() noexcept { return of_bits(Largest | 0x8000u); }
  static constexpr T epsilon() noexcept { return of_bits(Epsilon); }
  static constexpr T round_error() noexcept { return T(0.5f); }
  static constexpr T infinity() noexcept { return of_bits(Infinity); }
  static constexpr T quiet_NaN() noexcept { return of_bits(Nan); }
  static constexpr T signaling_NaN() noexcept { return of_bits(Nan); }
  static constexpr T denorm_min() noexcept { return of_bits(1); }
};
}  // namespace detail

}  // namespace c10

template <>
class std::numeric_limits<c10::Half>
    : public c10::detail::ReducedLimits<c10::Half, 11, 16, 0x0400, 0x7bff, 0x1400, 0x7c00, 0x7e00> {};
template <>
class std::numeric_limits<c10::BFloat16>
    : public c10::detail::ReducedLimits<c10::BFloat16, 8, 128, 0x0080, 0x7f7f, 0x3c00, 0x7f80, 0x7fc0> {};

template <>
inline constexpr lamella::DType lamella::dtype_of<c10::Half> = lamella::DType::Float16;
template <>
inline constexpr lamella::DType lamella::dtype_of<c10::BFloat16> = lamella::DType::BFloat16;
