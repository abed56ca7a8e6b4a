#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/simd/formulas.h"
#include "ops/simd/hd.h"
#include "ops/simd/integer.h"
#include "ops/simd/isa.h"
#include "ops/simd/special.h"

/// `Lane<T>`: the operand type of a formula in a CUDA thread, and in scalar host code.
///
/// One value of `T`, with the operators and functions of `Vec<T>`. It is a class rather than the bare number, so that a
/// literal rounds to `T`: with a bare `float`, `0.5 * x` would be double arithmetic.
namespace lamella::simd {
inline namespace LM_SIMD_ISA {

template <class T>
class Lane;

/// The result of comparing two `Lane<T>`; in memory it is a `bool`.
template <class T>
class LaneMask {
 public:
  using value_type = bool;
  using mask_type = LaneMask;
  static constexpr int size = 1;

  LaneMask() = default;
  template <std::same_as<bool> B>
  LM_HD constexpr LaneMask(B value) : value_(value) {}

  LM_HD constexpr bool value() const { return value_; }
  LM_HD constexpr bool operator[](int) const { return value_; }

  LM_HD static LaneMask load(const bool* from) { return *from; }
  LM_HD static LaneMask load_strided(const bool* from, std::int64_t) { return *from; }
  LM_HD static LaneMask load_partial(const bool* from, int n, bool pad) { return n > 0 ? *from : pad; }
  LM_HD static LaneMask load_strided_partial(const bool* from, std::int64_t, int n, bool pad) {
    return load_partial(from, n, pad);
  }
  LM_HD void store(bool* to) const { *to = value_; }
  LM_HD void store_strided(bool* to, std::int64_t) const { *to = value_; }
  LM_HD void store_partial(bool* to, int n) const {
    if (n > 0) *to = value_;
  }
  LM_HD void store_strided_partial(bool* to, std::int64_t, int n) const { store_partial(to, n); }

  LM_HD friend constexpr LaneMask operator&(LaneMask a, LaneMask b) { return a.value_ && b.value_; }
  LM_HD friend constexpr LaneMask operator|(LaneMask a, LaneMask b) { return a.value_ || b.value_; }
  LM_HD friend constexpr LaneMask operator^(LaneMask a, LaneMask b) { return a.value_ != b.value_; }
  LM_HD friend constexpr LaneMask operator!(LaneMask a) { return !a.value_; }
  LM_HD friend constexpr LaneMask operator~(LaneMask a) { return !a.value_; }
  LM_HD friend constexpr LaneMask operator==(LaneMask a, LaneMask b) { return a.value_ == b.value_; }
  LM_HD friend constexpr LaneMask operator!=(LaneMask a, LaneMask b) { return a.value_ != b.value_; }

  LM_HD friend constexpr bool any(LaneMask a) { return a.value_; }

  /// Returns `a` if `mask` is true, else `b`.
  LM_HD friend Lane<T> where(LaneMask mask, Lane<T> a, Lane<T> b) { return mask.value_ ? a : b; }

 private:
  bool value_;
};

// Defines a function for Lane<T> by the function of C and CUDA for T.
#define LM_LANE_UNARY(name, function)         \
  LM_HD friend Lane<T> name(Lane<T> a) {      \
    if constexpr (std::is_same_v<T, float>) { \
      return ::function##f(a.value());        \
    } else {                                  \
      return ::function(a.value());           \
    }                                         \
  }
#define LM_LANE_BINARY(name)                        \
  LM_HD friend Lane<T> name(Lane<T> a, Lane<T> b) { \
    if constexpr (std::is_same_v<T, float>) {       \
      return ::name##f(a.value(), b.value());       \
    } else {                                        \
      return ::name(a.value(), b.value());          \
    }                                               \
  }

template <class T>
struct LaneFloatFunctions : FloatFormulas<Lane<T>, LaneMask<T>, T> {
  LM_HD friend Lane<T> larger(Lane<T> a, Lane<T> b) { return where(a > b, a, b); }
  LM_HD friend Lane<T> smaller(Lane<T> a, Lane<T> b) { return where(a < b, a, b); }
  LM_LANE_UNARY(abs, fabs)
  LM_LANE_UNARY(sqrt, sqrt)
  LM_LANE_UNARY(floor, floor)
  LM_LANE_UNARY(ceil, ceil)
  LM_LANE_UNARY(trunc, trunc)
  LM_LANE_UNARY(round, rint)
  LM_LANE_UNARY(exp, exp)
  LM_LANE_UNARY(exp2, exp2)
  LM_LANE_UNARY(expm1, expm1)
  LM_LANE_UNARY(log, log)
  LM_LANE_UNARY(log1p, log1p)
  LM_LANE_UNARY(log2, log2)
  LM_LANE_UNARY(log10, log10)
  LM_LANE_UNARY(sin, sin)
  LM_LANE_UNARY(cos, cos)
  LM_LANE_UNARY(tan, tan)
  LM_LANE_UNARY(asin, asin)
  LM_LANE_UNARY(acos, acos)
  LM_LANE_UNARY(atan, atan)
  LM_LANE_UNARY(sinh, sinh)
  LM_LANE_UNARY(cosh, cosh)
  LM_LANE_UNARY(tanh, tanh)
  LM_LANE_UNARY(asinh, asinh)
  LM_LANE_UNARY(acosh, acosh)
  LM_LANE_UNARY(atanh, atanh)
  LM_LANE_UNARY(erf, erf)
  LM_LANE_UNARY(erfc, erfc)
  LM_LANE_UNARY(lgamma, lgamma)
  LM_LANE_BINARY(copysign)
  LM_LANE_BINARY(fmod)
  LM_LANE_BINARY(pow)
  LM_LANE_BINARY(atan2)
  LM_LANE_BINARY(hypot)
  LM_LANE_BINARY(nextafter)
};

#undef LM_LANE_UNARY
#undef LM_LANE_BINARY

template <class T>
struct LaneIntegerFunctions : IntegerFormulas<Lane<T>, LaneMask<T>, T> {
  LM_HD friend Lane<T> floor_divide(Lane<T> a, Lane<T> b) { return simd::floor_divide(a.value(), b.value()); }
  LM_HD friend Lane<T> fmod(Lane<T> a, Lane<T> b) { return truncated_remainder(a.value(), b.value()); }
  LM_HD friend Lane<T> remainder(Lane<T> a, Lane<T> b) { return floor_remainder(a.value(), b.value()); }
  LM_HD friend Lane<T> pow(Lane<T> a, Lane<T> b) { return integer_power(a.value(), b.value()); }
};

template <class T>
using LaneFunctionsOf =
    std::conditional_t<std::is_same_v<T, bool>, BoolFormulas<Lane<T>, LaneMask<T>>,
                       std::conditional_t<std::is_integral_v<T>, LaneIntegerFunctions<T>, LaneFloatFunctions<T>>>;

template <class T>
class Lane : public LaneFunctionsOf<T> {
 public:
  using value_type = T;
  using mask_type = LaneMask<T>;
  static constexpr int size = 1;

  Lane() = default;
  /// Converts a value, rounded to `T`.
  template <class U>
    requires std::is_arithmetic_v<U>
  LM_HD constexpr Lane(U value) : value_(static_cast<T>(value)) {}

  LM_HD constexpr T value() const { return value_; }
  LM_HD constexpr T operator[](int) const { return value_; }

  LM_HD static Lane load(const T* from) { return *from; }
  LM_HD static Lane load_strided(const T* from, std::int64_t) { return *from; }
  LM_HD static Lane load_partial(const T* from, int n, T pad) { return n > 0 ? *from : pad; }
  LM_HD static Lane load_strided_partial(const T* from, std::int64_t, int n, T pad) {
    return load_partial(from, n, pad);
  }
  LM_HD void store(T* to) const { *to = value_; }
  LM_HD void store_strided(T* to, std::int64_t) const { *to = value_; }
  LM_HD void store_partial(T* to, int n) const {
    if (n > 0) *to = value_;
  }
  LM_HD void store_strided_partial(T* to, std::int64_t, int n) const { store_partial(to, n); }

  LM_HD friend constexpr Lane operator+(Lane a, Lane b)
    requires Number<T>
  {
    if constexpr (Integer<T>) {
      return wrapping_add(a.value_, b.value_);
    } else {
      return a.value_ + b.value_;
    }
  }
  LM_HD friend constexpr Lane operator-(Lane a, Lane b)
    requires Number<T>
  {
    if constexpr (Integer<T>) {
      return wrapping_subtract(a.value_, b.value_);
    } else {
      return a.value_ - b.value_;
    }
  }
  LM_HD friend constexpr Lane operator*(Lane a, Lane b)
    requires Number<T>
  {
    if constexpr (Integer<T>) {
      return wrapping_multiply(a.value_, b.value_);
    } else {
      return a.value_ * b.value_;
    }
  }
  LM_HD friend constexpr Lane operator/(Lane a, Lane b)
    requires Number<T>
  {
    if constexpr (Integer<T>) {
      return truncated_divide(a.value_, b.value_);
    } else {
      return a.value_ / b.value_;
    }
  }
  LM_HD friend constexpr Lane operator-(Lane a)
    requires Number<T>
  {
    if constexpr (Integer<T>) {
      return wrapping_subtract(T{0}, a.value_);
    } else {
      return -a.value_;
    }
  }

  LM_HD friend constexpr Lane operator&(Lane a, Lane b)
    requires std::is_integral_v<T>
  {
    return a.value_ & b.value_;
  }
  LM_HD friend constexpr Lane operator|(Lane a, Lane b)
    requires std::is_integral_v<T>
  {
    return a.value_ | b.value_;
  }
  LM_HD friend constexpr Lane operator^(Lane a, Lane b)
    requires std::is_integral_v<T>
  {
    return a.value_ ^ b.value_;
  }
  LM_HD friend constexpr Lane operator~(Lane a)
    requires std::is_integral_v<T>
  {
    if constexpr (Integer<T>) {
      return ~a.value_;
    } else {
      return !a.value_;
    }
  }
  LM_HD friend constexpr Lane operator<<(Lane a, Lane bits)
    requires Integer<T>
  {
    return shift_left(a.value_, bits.value_);
  }
  LM_HD friend constexpr Lane operator>>(Lane a, Lane bits)
    requires Integer<T>
  {
    return shift_right(a.value_, bits.value_);
  }

  LM_HD friend constexpr LaneMask<T> operator==(Lane a, Lane b) { return a.value_ == b.value_; }
  LM_HD friend constexpr LaneMask<T> operator!=(Lane a, Lane b) { return a.value_ != b.value_; }
  LM_HD friend constexpr LaneMask<T> operator<(Lane a, Lane b) { return a.value_ < b.value_; }
  LM_HD friend constexpr LaneMask<T> operator<=(Lane a, Lane b) { return a.value_ <= b.value_; }
  LM_HD friend constexpr LaneMask<T> operator>(Lane a, Lane b) { return a.value_ > b.value_; }
  LM_HD friend constexpr LaneMask<T> operator>=(Lane a, Lane b) { return a.value_ >= b.value_; }
  /// True if the value is zero.
  LM_HD friend constexpr LaneMask<T> operator!(Lane a) { return a.value_ == T{0}; }

  LM_HD constexpr Lane& operator+=(Lane other) { return *this = *this + other; }
  LM_HD constexpr Lane& operator-=(Lane other) { return *this = *this - other; }
  LM_HD constexpr Lane& operator*=(Lane other) { return *this = *this * other; }
  LM_HD constexpr Lane& operator/=(Lane other) { return *this = *this / other; }

 private:
  T value_;
};

}  // namespace LM_SIMD_ISA
}  // namespace lamella::simd
