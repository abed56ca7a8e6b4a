#pragma once

#include <complex>

#include "c10/core/ScalarType.h"
#include "engine/core/tensor.h"

namespace c10 {

/// A number: an argument that may be a bool, an integer, a floating or a complex one.
class Scalar : public lamella::Scalar {
 public:
  Scalar() : lamella::Scalar(std::int64_t{0}) {}
  Scalar(const lamella::Scalar& value) : lamella::Scalar(value) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Scalar(T value) : lamella::Scalar(value) {}
  Scalar(std::complex<double> value) : lamella::Scalar(value) {}

  bool isFloatingPoint() const { return kind() == Kind::Float; }
  bool isIntegral(bool include_bool) const { return kind() == Kind::Int || (include_bool && kind() == Kind::Bool); }
  bool isBoolean() const { return kind() == Kind::Bool; }
  bool isComplex() const { return kind() == Kind::Complex; }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  int toInt() const { return to<int>(); }
  std::int64_t toLong() const { return to<std::int64_t>(); }
  bool toBool() const { return to<double>() != 0; }
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
