#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "c10/core/ScalarType.h"
#include "engine/core/error.h"
#include "engine/core/tensor.h"

namespace c10 {

namespace detail {
template <class T>
constexpr const char* number_name() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, double>) return "double";
  if constexpr (std::is_same_v<T, float>) return "float";
  if constexpr (std::is_same_v<T, int>) return "int";
  if constexpr (std::is_same_v<T, std::int64_t>) return "int64_t";
  if constexpr (std::is_same_v<T, std::int8_t>) return "int8_t";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "uint8_t";
  if constexpr (std::is_same_v<T, std::int16_t>) return "int16_t";
  return "a smaller number";
}
/// True if a floating-point number is beyond T. Infinity and NaN are not beyond a floating-point type.
template <class T>
constexpr bool is_beyond(double value) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    return std::isfinite(value) && (value > double(Limits::max()) || value < double(Limits::lowest()));
  } else {
    // The largest integer may round up to a number that no longer fits.
    const double end = std::ldexp(1.0, Limits::digits);
    return !(value < end && value >= double(Limits::lowest()));
  }
}
/// True if an integer is beyond T; a negative one may wrap around to an unsigned T.
template <class T>
constexpr bool is_beyond(std::int64_t value) {
  if constexpr (std::is_floating_point_v<T> || sizeof(T) == sizeof(value)) {
    return false;
  } else {
    using Limits = std::numeric_limits<T>;
    const std::int64_t lowest = std::is_signed_v<T> ? Limits::lowest() : -std::int64_t(Limits::max());
    return value < lowest || value > std::int64_t(Limits::max());
  }
}
}  // namespace detail

/// A number: an argument that may be a bool, an integer, a floating or a complex one.
class Scalar : public lamella::Scalar {
 public:
  Scalar() : lamella::Scalar(std::int64_t{0}) {}
  Scalar(const lamella::Scalar& value) : lamella::Scalar(value) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Scalar(T value) : lamella::Scalar(value) {}
  Scalar(std::complex<double> value) : lamella::Scalar(value) {}
  Scalar(std::complex<float> value) : lamella::Scalar(std::complex<double>(value)) {}
  template <class Storage>
  Scalar(ReducedFloat<Storage> value) : lamella::Scalar(static_cast<double>(float{value})) {}

  bool isFloatingPoint() const { return kind() == Kind::Float; }
  bool isIntegral(bool include_bool) const { return kind() == Kind::Int || (include_bool && kind() == Kind::Bool); }
  bool isBoolean() const { return kind() == Kind::Bool; }
  bool isComplex() const { return kind() == Kind::Complex; }
  /// Returns the value as the number type T; RuntimeError if it does not fit. What is not 0 is true.
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>) {
      return lamella::Scalar::to<double>() != 0 || imaginary() != 0;
    } else if constexpr (std::is_same_v<T, std::complex<double>> || std::is_same_v<T, std::complex<float>>) {
      return T(std::complex<double>(lamella::Scalar::to<double>(), imaginary()));
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return to<float>();
    } else {
      if constexpr (std::is_arithmetic_v<T>) {
        const bool beyond = isIntegral(true) && !beyond_int64()
                                ? detail::is_beyond<T>(lamella::Scalar::to<std::int64_t>())
                                : detail::is_beyond<T>(lamella::Scalar::to<double>()) || imaginary() != 0;
        if (beyond) {
          lamella::fail<lamella::RuntimeError>("value cannot be converted to type ", detail::number_name<T>(),
                                               " without overflow");
        }
      }
      return lamella::Scalar::to<T>();
    }
  }
  double toDouble() const { return to<double>(); }
  Half toHalf() const { return to<Half>(); }
  float toFloat() const { return to<float>(); }
  int toInt() const { return to<int>(); }
  std::int64_t toLong() const { return to<std::int64_t>(); }
  bool toBool() const { return to<bool>(); }
  std::complex<double> toComplexDouble() const { return to<std::complex<double>>(); }
  ScalarType type() const {
    switch (kind()) {
      case Kind::Bool:
        return ScalarType::Bool;
      case Kind::Int:
        return ScalarType::Long;
      case Kind::Float:
        return ScalarType::Double;
      case Kind::Complex:
        return ScalarType::ComplexDouble;
    }
    return ScalarType::Undefined;
  }
};

}  // namespace c10
