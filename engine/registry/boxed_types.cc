#include "engine/registry/boxed_types.h"

namespace lamella::registry {

bool is_value_of(const Type& type, const Arg& arg) {
  if (arg.is_none()) return type.optional;
  if (type.list) {
    switch (type.base) {
      case Type::Base::Tensor:
        return arg.kind == Arg::Kind::Tensors;
      case Type::Base::Int:
        return arg.kind == Arg::Kind::Ints;
      case Type::Base::Float:
        return arg.kind == Arg::Kind::Floats;
      case Type::Base::Bool:
        return arg.kind == Arg::Kind::Bools;
      default:
        return arg.kind == Arg::Kind::Strs;
    }
  }
  switch (type.base) {
    case Type::Base::Tensor:
      return arg.kind == Arg::Kind::Tensor;
    case Type::Base::TensorOrScalar:
      return arg.kind == Arg::Kind::Tensor || arg.kind == Arg::Kind::Scalar;
    case Type::Base::StrOrInts:
      return arg.kind == Arg::Kind::Str || arg.kind == Arg::Kind::Ints;
    case Type::Base::IntOrInts:
      return arg.kind == Arg::Kind::Int || arg.kind == Arg::Kind::Ints;
    case Type::Base::Int:
      return arg.kind == Arg::Kind::Int;
    case Type::Base::Float:
      return arg.kind == Arg::Kind::Float;
    case Type::Base::Bool:
      return arg.kind == Arg::Kind::Bool;
    case Type::Base::Str:
      return arg.kind == Arg::Kind::Str;
    case Type::Base::Scalar:
      return arg.kind == Arg::Kind::Scalar;
    case Type::Base::DType:
      return arg.kind == Arg::Kind::DType;
    case Type::Base::Device:
      return arg.kind == Arg::Kind::Device;
    case Type::Base::Generator:
      return arg.kind == Arg::Kind::Generator;
  }
  return false;
}

Value widened(const Type& type, Value value) {
  if (type.list) return value;
  if (type.base == Type::Base::Float && value.kind() == Value::Kind::Int) return value.number();
  const bool wants_scalar = type.base == Type::Base::Scalar || type.base == Type::Base::TensorOrScalar;
  if (wants_scalar &&
      (value.kind() == Value::Kind::Int || value.kind() == Value::Kind::Float || value.kind() == Value::Kind::Bool)) {
    return value.scalar();
  }
  return value;
}

}  // namespace lamella::registry
