#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lamella::registry {

/// The type of an argument or a result in a schema: "Tensor", "int[2]", "Tensor?[]", "dtype?".
struct Type {
  enum class Base : std::uint8_t {
    Tensor,
    Int,
    Float,
    Bool,
    Str,
    /// A number of any kind.
    Scalar,
    DType,
    Device,
    Generator,
    /// "Tensor|Scalar": for built-in operators in which a number may stand for a tensor.
    TensorOrScalar,
    /// "str|int[]": a mode by name, or sizes.
    StrOrInts,
    /// "int|int[]": a number of parts, or sizes.
    IntOrInts,
  };

  Base base = Base::Tensor;
  bool list = false;
  /// True if elements of the list may be None.
  bool optional_elements = false;
  /// True if None is allowed.
  bool optional = false;
  /// Length of a list of fixed length, for which a single value may stand; 1 if a single value may stand for a list of
  /// any length, 0 if it may not.
  std::uint32_t list_size = 0;

  /// True if an argument of this type can hold tensors.
  constexpr bool holds_tensors() const { return base == Base::Tensor || base == Base::TensorOrScalar; }
  /// "int[2]?". Defined in schema.cc, which writes an alias beside it.
  std::string str() const;
  friend constexpr bool operator==(const Type&, const Type&) = default;
};

constexpr Type list_of(Type::Base base, std::uint32_t size = 0) {
  return {.base = base, .list = true, .optional_elements = false, .optional = false, .list_size = size};
}
constexpr Type optional_of(Type type) {
  type.optional = true;
  return type;
}

/// True if a C++ value of type `given` can stand for the schema's type `wanted`: they are equal except for the length
/// of a list and whether a tensor or number is a tensor, which are checked in the call, and that undefined tensors in a
/// list stand for None.
constexpr bool accepts(const Type& wanted, const Type& given) {
  const bool same_base =
      wanted.base == given.base || (wanted.base == Type::Base::TensorOrScalar && given.base == Type::Base::Tensor);
  return same_base && wanted.list == given.list && wanted.optional == given.optional &&
         (wanted.optional_elements || !given.optional_elements) &&
         (given.list_size == 0 || wanted.list_size == given.list_size);
}

}  // namespace lamella::registry
