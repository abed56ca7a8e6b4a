#pragma once

// Shapes, element types and devices in the form of the OneFlow dialect. These headers include nothing of the engine, so
// that a small operator compiles fast.

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace lamella {
struct Half;
struct BFloat16;
}  // namespace lamella

namespace lamella::user_op {

using DimVector = std::vector<std::int64_t>;
using AxisVector = std::vector<std::int64_t>;

/// The sizes of a tensor. A Shape that was never set (`is_initialized()`) differs from that of a 0-d tensor.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims), initialized_(true) {}
  explicit Shape(DimVector dims) : dims_(std::move(dims)), initialized_(true) {}
  template <std::input_iterator Iterator>
  Shape(Iterator begin, Iterator end) : dims_(begin, end), initialized_(true) {}
  /// Returns a shape of that many axes of size 1.
  static Shape Ones(std::int64_t axes) { return Shape(DimVector(static_cast<std::size_t>(axes), 1)); }

  bool is_initialized() const { return initialized_; }
  std::int64_t NumAxes() const { return static_cast<std::int64_t>(dims_.size()); }
  std::int64_t elem_cnt() const { return Count(0); }
  /// Returns the size along `axis`, which may count from the end; throws IndexError if there is no such axis.
  std::int64_t At(std::int64_t axis) const { return dims_[checked(axis, NumAxes())]; }
  void Set(std::int64_t axis, std::int64_t size) { dims_[checked(axis, NumAxes())] = size; }
  /// Returns the product of the sizes of the axes [begin, end).
  std::int64_t Count(std::int64_t begin) const { return Count(begin, NumAxes()); }
  std::int64_t Count(std::int64_t begin, std::int64_t end) const;
  const DimVector& dim_vec() const { return dims_; }
  const std::int64_t* ptr() const { return dims_.data(); }
  /// Returns the shape without these axes; throws ValueError if one of them is not of size 1.
  Shape RemoveOnes(const AxisVector& axes) const;
  void ToShape(Shape* into) const { *into = *this; }
  /// Returns a text such as "(2,3)".
  std::string ToString() const;
  std::string DebugStr() const { return ToString(); }

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.initialized_ == b.initialized_ && a.dims_ == b.dims_;
  }
  friend bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }

 private:
  static std::size_t checked(std::int64_t axis, std::int64_t axes);

  DimVector dims_;
  bool initialized_ = false;
};

using ShapeView = Shape;

/// Returns the shape with size 1 at these axes, of which there is at least one.
Shape CreateReducedShape(const Shape& shape, const AxisVector& axes);
/// Returns the shape with size 1 at these axes; without axes, at all of them.
Shape CreateReducedShapeOrOnesShape(const Shape& shape, const AxisVector& axes);
/// Returns the shape with as many axes of size 1 before it that it has `axes`.
Shape CreateLeftExtendedShape(const Shape& shape, std::int64_t axes);

/// Element types, with OneFlow's names. kChar is that of buffers.
enum DataType : int {
  kInvalidDataType = 0,
  kChar,
  kFloat,
  kDouble,
  kInt8,
  kInt32,
  kInt64,
  kUInt8,
  kFloat16,
  kBool,
  kUInt16,
  kUInt32,
  kUInt64,
  kInt16,
  kBFloat16,
  kComplex64,
  kComplex128,
};

/// The element type of a C++ type, as `GetDataType<float>::value`.
template <class T>
struct GetDataType;
#define LAMELLA_USER_OP_DATA_TYPE(Cpp, kind) \
  template <>                                \
  struct GetDataType<Cpp> : std::integral_constant<DataType, DataType::kind> {};
LAMELLA_USER_OP_DATA_TYPE(char, kChar)
LAMELLA_USER_OP_DATA_TYPE(float, kFloat)
LAMELLA_USER_OP_DATA_TYPE(double, kDouble)
LAMELLA_USER_OP_DATA_TYPE(std::int8_t, kInt8)
LAMELLA_USER_OP_DATA_TYPE(std::int16_t, kInt16)
LAMELLA_USER_OP_DATA_TYPE(std::int32_t, kInt32)
LAMELLA_USER_OP_DATA_TYPE(std::int64_t, kInt64)
LAMELLA_USER_OP_DATA_TYPE(std::uint8_t, kUInt8)
LAMELLA_USER_OP_DATA_TYPE(std::uint16_t, kUInt16)
LAMELLA_USER_OP_DATA_TYPE(std::uint32_t, kUInt32)
LAMELLA_USER_OP_DATA_TYPE(std::uint64_t, kUInt64)
LAMELLA_USER_OP_DATA_TYPE(bool, kBool)
LAMELLA_USER_OP_DATA_TYPE(lamella::Half, kFloat16)
LAMELLA_USER_OP_DATA_TYPE(lamella::BFloat16, kBFloat16)
#undef LAMELLA_USER_OP_DATA_TYPE

namespace detail {
/// The element type of a T in memory; kInvalidDataType for types that have none (void, structs).
template <class T, class = void>
inline constexpr DataType kDataTypeOf = kInvalidDataType;
template <class T>
inline constexpr DataType kDataTypeOf<T, std::void_t<decltype(GetDataType<T>::value)>> = GetDataType<T>::value;
}  // namespace detail

/// Returns a name such as "float32".
const char* DataTypeName(DataType type);

enum DeviceType : int { kInvalidDevice = 0, kCPU = 1, kGPU = 2, kCUDA = kGPU };

/// Returns "cpu" or "gpu".
const char* DeviceTag(DeviceType type);

}  // namespace lamella::user_op
