#pragma once

#include <complex>
#include <cstdint>
#include <ostream>

#include "c10/util/ReducedFloat.h"
#include "engine/core/dtype.h"

namespace c10 {

/// PyTorch's names of element types; lamella::DType has the same under its own. Those that Lamella lacks are left out.
enum class ScalarType : std::int8_t {
  Byte,
  Char,
  Short,
  Int,
  Long,
  Half,
  Float,
  Double,
  ComplexFloat = 9,
  ComplexDouble,
  Bool,
  BFloat16 = 15,
  UInt16 = 27,
  UInt32,
  UInt64,
  Undefined = 46,
};

template <class T>
using complex = std::complex<T>;

// Name in ScalarType, C++ type, name in lamella::DType.
#define C10_FORALL_SCALAR_TYPES(_)                   \
  _(Byte, std::uint8_t, UInt8)                       \
  _(Char, std::int8_t, Int8)                         \
  _(Short, std::int16_t, Int16)                      \
  _(Int, std::int32_t, Int32)                        \
  _(Long, std::int64_t, Int64)                       \
  _(Half, ::c10::Half, Float16)                      \
  _(Float, float, Float32)                           \
  _(Double, double, Float64)                         \
  _(ComplexFloat, std::complex<float>, Complex64)    \
  _(ComplexDouble, std::complex<double>, Complex128) \
  _(Bool, bool, Bool)                                \
  _(BFloat16, ::c10::BFloat16, BFloat16)             \
  _(UInt16, std::uint16_t, UInt16)                   \
  _(UInt32, std::uint32_t, UInt32)                   \
  _(UInt64, std::uint64_t, UInt64)

#define C10_NAME_CONSTANT_(name, cpp, dtype) inline constexpr ScalarType k##name = ScalarType::name;
C10_FORALL_SCALAR_TYPES(C10_NAME_CONSTANT_)
#undef C10_NAME_CONSTANT_
inline constexpr ScalarType kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort, kInt32 = kInt, kInt64 = kLong;
inline constexpr ScalarType kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble;
inline constexpr ScalarType kComplexFloat64 = kComplexDouble;

/// Converts a ScalarType; TypeError for Undefined.
constexpr lamella::DType to_dtype(ScalarType type) {
  switch (type) {
#define C10_CASE_(name, cpp, dtype) \
  case ScalarType::name:            \
    return lamella::DType::dtype;
    C10_FORALL_SCALAR_TYPES(C10_CASE_)
#undef C10_CASE_
    default:
      lamella::fail<lamella::TypeError>("[ScalarType] an undefined dtype was used");
  }
}
constexpr ScalarType to_scalar_type(lamella::DType dtype) {
  switch (dtype) {
#define C10_CASE_(name, cpp, dtype) \
  case lamella::DType::dtype:       \
    return ScalarType::name;
    C10_FORALL_SCALAR_TYPES(C10_CASE_)
#undef C10_CASE_
  }
  return ScalarType::Undefined;
}
constexpr const char* toString(ScalarType type) {
  switch (type) {
#define C10_CASE_(name, cpp, dtype) \
  case ScalarType::name:            \
    return #name;
    C10_FORALL_SCALAR_TYPES(C10_CASE_)
#undef C10_CASE_
    default:
      return "Undefined";
  }
}
inline std::ostream& operator<<(std::ostream& out, ScalarType type) { return out << toString(type); }

constexpr bool isFloatingType(ScalarType type) { return lamella::is_floating(to_dtype(type)); }
constexpr bool isComplexType(ScalarType type) { return lamella::is_complex(to_dtype(type)); }
constexpr bool isIntegralType(ScalarType type, bool include_bool = false) {
  return lamella::is_integral(to_dtype(type)) || (include_bool && type == ScalarType::Bool);
}
constexpr std::size_t elementSize(ScalarType type) { return lamella::item_size(to_dtype(type)); }

/// Maps a C++ type to its ScalarType.
template <class T>
struct CppTypeToScalarType {
  static constexpr ScalarType value = to_scalar_type(lamella::dtype_of<T>);
};

namespace impl {
template <ScalarType Type>
struct ScalarTypeToCPPType;
#define C10_TYPE_(name, cpp, dtype)              \
  template <>                                    \
  struct ScalarTypeToCPPType<ScalarType::name> { \
    using type = cpp;                            \
  };
C10_FORALL_SCALAR_TYPES(C10_TYPE_)
#undef C10_TYPE_
template <ScalarType Type>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<Type>::type;
}  // namespace impl

}  // namespace c10
