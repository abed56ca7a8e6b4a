// Texts of attributes and types, and conversions between their forms.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <sstream>

#include "engine/core/error.h"
#include "ops/user_op/maybe.h"
#include "ops/user_op/schema.h"

namespace lamella::user_op {
namespace {

// Dtypes in the order of DataType. A buffer's bytes are uint8.
constexpr std::array<DType, 17> kDTypes{
    DType::UInt8,  DType::UInt8, DType::Float32,  DType::Float64,   DType::Int8,      DType::Int32,
    DType::Int64,  DType::UInt8, DType::Float16,  DType::Bool,      DType::UInt16,    DType::UInt32,
    DType::UInt64, DType::Int16, DType::BFloat16, DType::Complex64, DType::Complex128};
constexpr std::array<const char*, 14> kAttrTypes{
    "kAtInt32",    "kAtInt64",     "kAtBool",      "kAtFloat",     "kAtDouble",       "kAtString",    "kAtShape",
    "kAtDataType", "kAtListInt32", "kAtListInt64", "kAtListFloat", "kAtListDataType", "kAtListShape", "kAtListString"};

template <class T>
constexpr bool kIsList = false;
template <class T>
constexpr bool kIsList<std::vector<T>> = true;

/// True if an integer fits into a T without loss.
template <class T>
bool fits(std::int64_t value) {
  if constexpr (std::is_integral_v<T>) {
    return value >= static_cast<std::int64_t>(std::numeric_limits<T>::min()) &&
           value <= static_cast<std::int64_t>(std::numeric_limits<T>::max());
  } else {
    return true;
  }
}

[[noreturn]] void refuse(const std::string& what, UserOpAttrType given, UserOpAttrType wanted) {
  fail<TypeError>(what, " is of type ", AttrTypeName(given), ", and ", AttrTypeName(wanted), " is declared");
}

/// True if a From may stand for a To: integers for floats and for each other, 0 and 1 for a bool.
template <class To, class From>
constexpr bool kConvertible = std::is_same_v<From, bool>       ? std::is_same_v<To, bool>
                              : std::is_floating_point_v<From> ? std::is_floating_point_v<To>
                                                               : true;

/// Converts numbers to the number type To; throws ValueError that opens with `what` if one does not fit.
template <class To, class From>
To number(From value, const std::string& what) {
  if constexpr (std::is_integral_v<From> && !std::is_same_v<From, bool>) {
    if (!fits<To>(static_cast<std::int64_t>(value))) fail<ValueError>(what, " is ", value, ", which does not fit");
  }
  return static_cast<To>(value);
}

}  // namespace

const char* DataTypeName(DataType type) {
  if (type == kInvalidDataType) return "no type";
  if (type == kChar) return "char";
  return lamella::name(kDTypes[static_cast<std::size_t>(type)]).data();
}
const char* DeviceTag(DeviceType type) {
  return type == DeviceType::kCPU ? "cpu" : type == DeviceType::kGPU ? "gpu" : "no device";
}
const char* AttrTypeName(UserOpAttrType type) { return kAttrTypes[static_cast<std::size_t>(type)]; }

std::int64_t Shape::Count(std::int64_t begin, std::int64_t end) const {
  if (begin < 0 || end > NumAxes() || begin > end) {
    fail<IndexError>("Shape::Count(", begin, ", ", end, ") of a shape with ", NumAxes(), " axes");
  }
  std::int64_t count = 1;
  for (std::int64_t axis = begin; axis < end; ++axis) count *= dims_[static_cast<std::size_t>(axis)];
  return count;
}

std::size_t Shape::checked(std::int64_t axis, std::int64_t axes) {
  const std::int64_t from_front = axis < 0 ? axis + axes : axis;
  if (from_front < 0 || from_front >= axes) fail<IndexError>("axis ", axis, " of a shape with ", axes, " axes");
  return static_cast<std::size_t>(from_front);
}

Shape Shape::RemoveOnes(const AxisVector& axes) const {
  std::vector<bool> removed(dims_.size());
  for (const std::int64_t axis : axes) {
    if (At(axis) != 1) fail<ValueError>("axis ", axis, " of the shape ", ToString(), " is not of size 1");
    removed[checked(axis, NumAxes())] = true;
  }
  DimVector left;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (!removed[i]) left.push_back(dims_[i]);
  }
  return Shape(std::move(left));
}

Shape CreateReducedShape(const Shape& shape, const AxisVector& axes) {
  if (axes.empty()) fail<ValueError>("CreateReducedShape() of ", shape.ToString(), " got no axes");
  Shape reduced = shape;
  for (const std::int64_t axis : axes) reduced.Set(axis, 1);
  return reduced;
}
Shape CreateReducedShapeOrOnesShape(const Shape& shape, const AxisVector& axes) {
  return axes.empty() ? Shape::Ones(shape.NumAxes()) : CreateReducedShape(shape, axes);
}
Shape CreateLeftExtendedShape(const Shape& shape, std::int64_t axes) {
  if (axes < shape.NumAxes()) {
    fail<ValueError>("CreateLeftExtendedShape() of ", shape.ToString(), " to ", axes, " axes, which are fewer");
  }
  DimVector dims(static_cast<std::size_t>(axes - shape.NumAxes()), 1);
  dims.insert(dims.end(), shape.dim_vec().begin(), shape.dim_vec().end());
  return Shape(std::move(dims));
}

std::string Shape::ToString() const {
  std::string text = "(";
  for (const std::int64_t size : dims_) text += (text.size() > 1 ? "," : "") + std::to_string(size);
  return text + ")";
}

void Error::Throw(const std::string& where) const {
  const std::string text = where + (message_.empty() ? " check failed" : " " + message_);
  switch (kind_) {
    case Kind::kCheckFailed:
      fail<ValueError>(text);
    case Kind::kUnimplemented:
      fail<NotImplementedError>(text);
    case Kind::kType:
      fail<lamella::TypeError>(text);
    case Kind::kIndex:
      fail<lamella::IndexError>(text);
    case Kind::kOther:
      break;
  }
  fail<lamella::RuntimeError>(text);
}

namespace detail {

FailedCheck::FailedCheck(const char* condition, const char* file, int line) {
  text_ << "check failed: " << condition << " (" << file << ":" << line << ") ";
}
FailedCheck::~FailedCheck() noexcept(false) { throw lamella::RuntimeError(std::move(text_).str()); }

NotReached::NotReached(const char* file, int line) { text_ << "UNIMPLEMENTED() (" << file << ":" << line << ") "; }
NotReached::~NotReached() noexcept(false) { throw NotImplementedError(std::move(text_).str()); }

LogLine::~LogLine() {
  text_ << '\n';
  std::fputs(text_.str().c_str(), stderr);
}

namespace {

/// Returns `from` converted to a To; nothing if it cannot be converted.
template <class To, class From>
std::optional<AttrValue> converted(const From& from, const std::string& what) {
  if constexpr (std::is_arithmetic_v<From> && std::is_arithmetic_v<To>) {
    if constexpr (kConvertible<To, From>) return AttrValue(std::in_place_type<To>, number<To>(from, what));
  } else if constexpr (std::is_same_v<To, Shape> && (std::is_same_v<From, std::vector<std::int64_t>> ||
                                                     std::is_same_v<From, std::vector<std::int32_t>>)) {
    return Shape(DimVector(from.begin(), from.end()));
  } else if constexpr (kIsList<From> && kIsList<To>) {
    using Each = typename To::value_type;
    using Given = typename From::value_type;
    if constexpr (std::is_arithmetic_v<Given> && std::is_arithmetic_v<Each>) {
      if constexpr (kConvertible<Each, Given>) {
        To list;
        list.reserve(from.size());
        for (const auto each : from) list.push_back(number<Each>(each, what));
        return AttrValue(std::in_place_type<To>, std::move(list));
      }
    }
    if (from.empty()) return AttrValue(std::in_place_type<To>);  // an empty list is a list of any type
  }
  return std::nullopt;
}

}  // namespace

AttrValue convert(AttrValue value, UserOpAttrType wanted, const std::string& what) {
  const auto given = static_cast<UserOpAttrType>(value.index());
  if (given == wanted) return value;
  const auto to = [&]<class To>(std::type_identity<To>) -> AttrValue {
    auto result = std::visit([&](const auto& from) { return converted<To>(from, what); }, value);
    if (!result) refuse(what, given, wanted);
    return *std::move(result);
  };
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    AttrValue result;
    ((static_cast<std::size_t>(wanted) == I
          ? static_cast<void>(result = to(std::type_identity<std::variant_alternative_t<I, AttrValue>>{}))
          : static_cast<void>(0)),
     ...);
    return result;
  }(std::make_index_sequence<std::variant_size_v<AttrValue>>{});
}

DType to_dtype(DataType type, const std::string& what) {
  if (type == kInvalidDataType || static_cast<std::size_t>(type) >= kDTypes.size()) {
    fail<ValueError>(what, " has no valid data type");
  }
  return kDTypes[static_cast<std::size_t>(type)];
}

DataType to_data_type(DType dtype) {
  for (std::size_t i = kFloat; i < kDTypes.size(); ++i) {
    if (kDTypes[i] == dtype) return static_cast<DataType>(i);
  }
  return kInvalidDataType;
}

registry::Value to_value(const AttrValue& value) {
  return std::visit(
      []<class T>(const T& x) -> registry::Value {
        if constexpr (std::is_same_v<T, bool>) {
          return x;
        } else if constexpr (std::is_integral_v<T>) {
          return static_cast<std::int64_t>(x);
        } else if constexpr (std::is_floating_point_v<T>) {
          return static_cast<double>(x);
        } else if constexpr (std::is_same_v<T, Shape>) {
          return x.dim_vec();
        } else if constexpr (std::is_same_v<T, DataType>) {
          return to_dtype(x, "an attribute");
        } else if constexpr (std::is_same_v<T, std::vector<std::int32_t>>) {
          return std::vector<std::int64_t>(x.begin(), x.end());
        } else if constexpr (std::is_same_v<T, std::vector<float>>) {
          return std::vector<double>(x.begin(), x.end());
        } else if constexpr (std::is_same_v<T, std::vector<DataType>>) {
          std::vector<std::string> names;
          names.reserve(x.size());
          for (const DataType type : x) names.emplace_back(lamella::name(to_dtype(type, "an attribute")));
          return names;
        } else if constexpr (std::is_same_v<T, std::vector<Shape>>) {
          std::vector<std::string> texts;
          for (const Shape& shape : x) {
            const std::string text = shape.ToString();
            texts.push_back(text.substr(1, text.size() - 2));
          }
          return texts;
        } else {
          return x;
        }
      },
      value);
}

namespace {

Shape parse_shape(std::string_view text, const std::string& what) {
  DimVector dims;
  std::istringstream in{std::string(text)};
  for (std::string part; std::getline(in, part, ',');) {
    char* end = nullptr;
    dims.push_back(std::strtoll(part.c_str(), &end, 10));
    if (part.empty() || *end != '\0') fail<ValueError>(what, ": '", text, "' is not a shape such as \"2,3\"");
  }
  return Shape(std::move(dims));
}

DataType parse_data_type(std::string_view text, const std::string& what) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (kDTypeNames[i] == text) return to_data_type(static_cast<DType>(i));
  }
  fail<ValueError>(what, ": '", text, "' is not a data type");
}

}  // namespace

AttrValue from_arg(const registry::Arg& arg, UserOpAttrType type, const std::string& what) {
  using Kind = registry::Arg::Kind;
  AttrValue value;
  switch (arg.kind) {
    case Kind::Int:
      value = arg.integer;
      break;
    case Kind::Float:
      value = arg.number;
      break;
    case Kind::Bool:
      value = arg.truth;
      break;
    case Kind::Str:
      value = std::string(arg.str());
      break;
    case Kind::DType:
      value = to_data_type(arg.dtype);
      break;
    case Kind::Ints:
      value = std::vector<std::int64_t>(arg.integers, arg.integers + arg.size);
      break;
    case Kind::Floats:
      value = std::vector<float>(arg.numbers, arg.numbers + arg.size);
      break;
    case Kind::Strs: {
      if (type == UserOpAttrType::kAtListShape) {
        std::vector<Shape> shapes;
        shapes.reserve(arg.size);
        for (std::size_t i = 0; i < arg.size; ++i) shapes.push_back(parse_shape(arg.texts[i], what));
        return shapes;
      }
      if (type == UserOpAttrType::kAtListDataType) {
        std::vector<DataType> types;
        types.reserve(arg.size);
        for (std::size_t i = 0; i < arg.size; ++i) types.push_back(parse_data_type(arg.texts[i], what));
        return types;
      }
      value = std::vector<std::string>(arg.texts, arg.texts + arg.size);
      break;
    }
    default:
      fail<TypeError>(what, " is not the value of an attribute");
  }
  return convert(std::move(value), type, what);
}

}  // namespace detail
}  // namespace lamella::user_op
