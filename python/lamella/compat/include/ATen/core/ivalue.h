#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/converters.h"
#include "engine/registry/value.h"

namespace c10 {

/// A value of any type that operators take: a tensor, a number, a text, a list, or nothing.
class IValue {
  using Value = lamella::registry::Value;
  using Kind = Value::Kind;

 public:
  IValue() = default;
  IValue(std::nullopt_t) {}
  IValue(at::Tensor x) : value_(lamella::Tensor(std::move(x))) {}
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  IValue(T value) : value_(static_cast<std::int64_t>(value)) {}
  IValue(SymInt value) : value_(value.expect_int()) {}
  IValue(double value) : value_(value) {}
  IValue(bool value) : value_(value) {}
  IValue(const char* text) : value_(text) {}
  IValue(std::string text) : value_(std::move(text)) {}
  IValue(const Scalar& value) : value_(lamella::Scalar(value)) {}
  IValue(ScalarType type) : value_(to_dtype(type)) {}
  IValue(Device device) : value_(device.native()) {}
  IValue(std::vector<std::int64_t> values) : value_(std::move(values)) {}
  IValue(IntArrayRef values) : value_(values.vec()) {}
  IValue(SymIntArrayRef sizes) : IValue(asIntArrayRefUnchecked(sizes)) {}
  IValue(const std::vector<SymInt>& sizes) : IValue(SymIntArrayRef(sizes)) {}
  IValue(ArrayRef<double> values) : value_(values.vec()) {}
  template <class T, std::size_t N>
  IValue(const std::array<T, N>& values) : IValue(std::vector<T>(values.begin(), values.end())) {}
  IValue(std::vector<double> values) : value_(std::move(values)) {}
  IValue(const std::vector<bool>& values) : value_(values) {}
  IValue(std::vector<std::string> values) : value_(std::move(values)) {}
  IValue(const std::vector<at::Tensor>& values) : value_(at::detail::native_tensors(values)) {}
  IValue(const std::vector<std::optional<at::Tensor>>& values) : value_(at::detail::native_tensors(values)) {}
  IValue(at::TensorList values) : value_(at::detail::native_tensors(values)) {}
  template <class T>
  IValue(const List<T>& values) : IValue(values.vec()) {}
  template <class T>
  IValue(const std::optional<T>& value) {
    if (value) *this = IValue(*value);
  }
  explicit IValue(Value value) : value_(std::move(value)) {}

  bool isNone() const { return value_.is_none(); }
  bool isTensor() const { return value_.kind() == Kind::Tensor; }
  bool isInt() const { return value_.kind() == Kind::Int; }
  bool isDouble() const { return value_.kind() == Kind::Float; }
  bool isBool() const { return value_.kind() == Kind::Bool; }
  bool isString() const { return value_.kind() == Kind::Str; }
  bool isIntList() const { return value_.kind() == Kind::Ints; }
  bool isDoubleList() const { return value_.kind() == Kind::Floats; }
  bool isBoolList() const { return value_.kind() == Kind::Bools; }
  bool isTensorList() const { return value_.kind() == Kind::Tensors; }
  bool isList() const {
    return isIntList() || isDoubleList() || isBoolList() || isTensorList() || value_.kind() == Kind::Strs;
  }
  bool isDevice() const { return value_.kind() == Kind::Device; }
  bool isScalar() const { return isInt() || isDouble() || isBool() || value_.kind() == Kind::Scalar; }

  // Return the held value; TypeError that names both kinds if it is of another.
  at::Tensor toTensor() const { return value_.tensor(); }
  std::int64_t toInt() const { return value_.integer(); }
  SymInt toSymInt() const { return toInt(); }
  double toDouble() const { return value_.number(); }
  bool toBool() const { return value_.truth(); }
  Scalar toScalar() const {
    if (isInt()) return toInt();
    if (isDouble()) return toDouble();
    if (isBool()) return toBool();
    return value_.scalar();
  }
  std::string toStringRef() const { return std::string(value_.text()); }
  ScalarType toScalarType() const { return to_scalar_type(value_.dtype()); }
  Device toDevice() const { return value_.device(); }
  std::vector<std::int64_t> toIntVector() const { return {value_.integers().begin(), value_.integers().end()}; }
  List<std::int64_t> toIntList() const { return List<std::int64_t>(toIntVector()); }
  std::vector<SymInt> toSymIntVector() const { return {value_.integers().begin(), value_.integers().end()}; }
  std::vector<double> toDoubleVector() const { return {value_.numbers().begin(), value_.numbers().end()}; }
  List<double> toDoubleList() const { return List<double>(toDoubleVector()); }
  List<bool> toBoolList() const { return List<bool>(converted<std::vector<bool>>()); }
  std::vector<at::Tensor> toTensorVector() const { return {value_.tensors().begin(), value_.tensors().end()}; }
  List<at::Tensor> toTensorList() const { return List<at::Tensor>(toTensorVector()); }
  std::vector<std::optional<at::Tensor>> toOptionalTensorVector() const {
    return converted<std::vector<std::optional<at::Tensor>>>();
  }
  /// Returns the elements of a list of any type; TypeError if it is none.
  List<IValue> toList() const;
  List<std::optional<at::Tensor>> toOptionalTensorList() const {
    return List<std::optional<at::Tensor>>(toOptionalTensorVector());
  }
  template <class T>
  std::optional<T> toOptional() const {
    return isNone() ? std::nullopt : std::optional<T>(to<T>());
  }
  /// Calls toTensor(), toInt() and so on, by the type.
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, at::Tensor>) {
      return toTensor();
    } else if constexpr (std::is_same_v<T, bool>) {
      return toBool();
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(toInt());
    } else if constexpr (std::is_same_v<T, SymInt>) {
      return toSymInt();
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(toDouble());
    } else if constexpr (std::is_same_v<T, std::string>) {
      return toStringRef();
    } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
      return toIntVector();
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      return toDoubleVector();
    } else if constexpr (std::is_same_v<T, std::vector<at::Tensor>>) {
      return toTensorVector();
    } else {
      static_assert(std::is_same_v<T, Scalar>, "an IValue is no such type");
      return toScalar();
    }
  }
  const Value& native() const { return value_; }

 private:
  template <class T>
  T converted() const {
    Value copied = value_;
    return lamella::registry::Converter<T>::from_value(copied);
  }
  template <class T>
  static List<IValue> as_values(const std::vector<T>& values) {
    return List<IValue>(std::vector<IValue>(values.begin(), values.end()));
  }
  Value value_;
};

inline List<IValue> IValue::toList() const {
  switch (value_.kind()) {
    case Kind::Ints:
      return as_values(toIntVector());
    case Kind::Floats:
      return as_values(toDoubleVector());
    case Kind::Bools:
      return as_values(converted<std::vector<bool>>());
    case Kind::Strs:
      return as_values(converted<std::vector<std::string>>());
    default:
      return as_values(toOptionalTensorVector());
  }
}

}  // namespace c10
