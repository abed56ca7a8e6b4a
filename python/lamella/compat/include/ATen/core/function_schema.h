#pragma once

// What an operator's text says: its name, arguments and results.

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "ATen/core/ivalue.h"
#include "engine/registry/schema.h"

namespace c10 {

/// Name of an operator: "ns::name" and the name of the overload.
struct OperatorName {
  std::string name;
  std::string overload_name;
};

/// Kinds of the types of arguments and results.
enum class TypeKind {
  TensorType,
  IntType,
  FloatType,
  BoolType,
  StringType,
  NumberType,
  DeviceObjType,
  GeneratorType,
  ListType,
  OptionalType
};

/// The type of an argument or a result.
class Type {
 public:
  explicit Type(const lamella::registry::Type& native) : native_(native) {}
  TypeKind kind() const {
    using Base = lamella::registry::Type::Base;
    if (native_.optional) return TypeKind::OptionalType;
    if (native_.list) return TypeKind::ListType;
    switch (native_.base) {
      case Base::Tensor:
        return TypeKind::TensorType;
      case Base::Float:
        return TypeKind::FloatType;
      case Base::Bool:
        return TypeKind::BoolType;
      case Base::Str:
        return TypeKind::StringType;
      case Base::Device:
        return TypeKind::DeviceObjType;
      case Base::Generator:
        return TypeKind::GeneratorType;
      case Base::Int:
      case Base::DType:
        return TypeKind::IntType;
      default:
        return TypeKind::NumberType;
    }
  }
  std::string str() const { return native_.str(); }
  std::string repr_str() const { return str(); }
  const Type* operator->() const { return this; }

 private:
  lamella::registry::Type native_;
};

/// An argument or a result of an operator.
class Argument {
 public:
  explicit Argument(const lamella::Schema::Argument& native)
      : name_(native.name), type_(native.type), kwarg_only_(native.keyword_only), is_write_(native.is_written()) {
    if (native.default_value) default_value_ = IValue(*native.default_value);
  }
  explicit Argument(const lamella::Schema::Result& native) : name_(native.name), type_(native.type) {}
  const std::string& name() const { return name_; }
  const Type& type() const { return type_; }
  const std::optional<IValue>& default_value() const { return default_value_; }
  bool kwarg_only() const { return kwarg_only_; }
  bool is_write() const { return is_write_; }
  bool is_out() const { return kwarg_only_ && is_write_; }

 private:
  std::string name_;
  Type type_;
  std::optional<IValue> default_value_;
  bool kwarg_only_ = false;
  bool is_write_ = false;
};

/// Name, arguments and results of an operator.
class FunctionSchema {
 public:
  explicit FunctionSchema(const lamella::Schema& native)
      : native_(&native),
        arguments_(native.arguments.begin(), native.arguments.end()),
        returns_(native.results.begin(), native.results.end()) {}
  const std::string& name() const { return native_->name; }
  const std::string& overload_name() const { return native_->overload; }
  OperatorName operator_name() const { return {name(), overload_name()}; }
  const std::vector<Argument>& arguments() const { return arguments_; }
  const std::vector<Argument>& returns() const { return returns_; }
  bool is_mutable() const { return native_->is_mutable(); }
  std::optional<int> argumentIndexWithName(std::string_view name) const {
    const auto found = native_->find(name);
    return found ? std::optional(static_cast<int>(*found)) : std::nullopt;
  }
  friend std::ostream& operator<<(std::ostream& out, const FunctionSchema& schema) {
    return out << schema.native_->str();
  }

 private:
  const lamella::Schema* native_;
  std::vector<Argument> arguments_, returns_;
};

}  // namespace c10
