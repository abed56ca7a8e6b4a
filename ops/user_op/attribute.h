#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ops/user_op/types.h"

namespace lamella::user_op {

/// The types of attributes, with OneFlow's names, in the order of AttrValue's alternatives.
enum class UserOpAttrType : int {
  kAtInt32,
  kAtInt64,
  kAtBool,
  kAtFloat,
  kAtDouble,
  kAtString,
  kAtShape,
  kAtDataType,
  kAtListInt32,
  kAtListInt64,
  kAtListFloat,
  kAtListDataType,
  kAtListShape,
  kAtListString,
};
using AttrType = UserOpAttrType;

using AttrValue = std::variant<std::int32_t, std::int64_t, bool, float, double, std::string, Shape, DataType,
                               std::vector<std::int32_t>, std::vector<std::int64_t>, std::vector<float>,
                               std::vector<DataType>, std::vector<Shape>, std::vector<std::string>>;

/// Returns the name of a type, such as "kAtInt32".
const char* AttrTypeName(UserOpAttrType type);

namespace detail {

template <class T, class Variant>
struct IndexIn;
template <class T, class... A>
struct IndexIn<T, std::variant<A...>> {
  static constexpr int value = [] {
    const bool same[] = {std::is_same_v<T, A>...};
    for (int i = 0; i < static_cast<int>(sizeof...(A)); ++i) {
      if (same[i]) return i;
    }
    return -1;
  }();
};

/// Returns the type of attributes that hold a T.
template <class T>
constexpr UserOpAttrType attr_type_of() {
  constexpr int index = IndexIn<T, AttrValue>::value;
  static_assert(index >= 0,
                "an attribute is int32_t, int64_t, bool, float, double, std::string, Shape, DataType, or a std::vector "
                "of int32_t, int64_t, float, DataType, Shape or std::string");
  return static_cast<UserOpAttrType>(index);
}

/// A range of elements that are not tensors, which a list attribute accepts.
template <class T>
concept ListLike = requires(const T& list) {
  list.begin() != list.end();
  typename T::value_type;
} && !std::is_convertible_v<const T&, std::string_view>;

/// Returns a value as its author wrote it, before conversion to an attribute's type: an int for a float, a text, a list
/// of these.
template <class T>
AttrValue loose_value(const T& value) {
  using D = std::decay_t<const T&>;
  if constexpr (IndexIn<D, AttrValue>::value >= 0) {
    return AttrValue(std::in_place_type<D>, value);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return AttrValue(std::in_place_type<std::string>, std::string_view(value));
  } else if constexpr (std::is_floating_point_v<D>) {
    return AttrValue(std::in_place_type<double>, static_cast<double>(value));
  } else if constexpr (ListLike<D>) {
    using Each = typename D::value_type;
    if constexpr (std::is_convertible_v<const Each&, std::string_view>) {
      std::vector<std::string> texts;
      for (const auto& each : value) texts.emplace_back(std::string_view(each));
      return texts;
    } else if constexpr (std::is_floating_point_v<Each>) {
      std::vector<float> numbers;
      for (const auto& each : value) numbers.push_back(static_cast<float>(each));
      return numbers;
    } else if constexpr (std::is_integral_v<Each>) {
      std::vector<std::int64_t> numbers;
      for (const auto& each : value) numbers.push_back(static_cast<std::int64_t>(each));
      return numbers;
    } else {
      static_assert(IndexIn<std::vector<Each>, AttrValue>::value >= 0, "this is no attribute's value");
      return std::vector<Each>(value.begin(), value.end());
    }
  } else {
    static_assert(std::is_integral_v<D>, "this is no attribute's value");
    return AttrValue(std::in_place_type<std::int64_t>, static_cast<std::int64_t>(value));
  }
}

/// Returns `value` as an attribute of type `wanted`: itself, or a number that the type can hold. Throws TypeError or
/// ValueError that opens with `what`.
AttrValue convert(AttrValue value, UserOpAttrType wanted, const std::string& what);

}  // namespace detail
}  // namespace lamella::user_op
