#pragma once

#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string_view>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/half.h"

namespace lamella {

/// Element type of a tensor, in the order of the kernel tables' columns.
enum class DType : std::uint8_t {
  Bool,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Complex64,
  Complex128,
};

inline constexpr std::size_t kDTypeCount = 15;

/// A set of dtypes as a bit mask: `Floating | Complex`. All members are public because sets are template arguments.
struct DTypeSet {
  std::uint32_t bits = 0;

  constexpr DTypeSet() = default;
  constexpr DTypeSet(DType dtype) : bits(bit(dtype)) {}
  constexpr DTypeSet(std::initializer_list<DType> dtypes) {
    for (DType d : dtypes) bits |= bit(d);
  }
  constexpr bool contains(DType dtype) const { return (bits & bit(dtype)) != 0; }
  constexpr bool empty() const { return bits == 0; }
  friend constexpr DTypeSet operator|(DTypeSet a, DTypeSet b) { return from_bits(a.bits | b.bits); }
  friend constexpr DTypeSet operator&(DTypeSet a, DTypeSet b) { return from_bits(a.bits & b.bits); }
  friend constexpr DTypeSet operator-(DTypeSet a, DTypeSet b) { return from_bits(a.bits & ~b.bits); }
  friend constexpr bool operator==(DTypeSet a, DTypeSet b) = default;
  static constexpr std::uint32_t bit(DType dtype) { return 1u << static_cast<unsigned>(dtype); }
  static constexpr DTypeSet from_bits(std::uint32_t bits) {
    DTypeSet set;
    set.bits = bits;
    return set;
  }
};

inline constexpr DTypeSet Boolean{DType::Bool};
inline constexpr DTypeSet SignedInteger{DType::Int8, DType::Int16, DType::Int32, DType::Int64};
inline constexpr DTypeSet UnsignedInteger{DType::UInt8, DType::UInt16, DType::UInt32, DType::UInt64};
inline constexpr DTypeSet Integral = SignedInteger | UnsignedInteger;
inline constexpr DTypeSet Floating{DType::Float16, DType::BFloat16, DType::Float32, DType::Float64};
inline constexpr DTypeSet Complex{DType::Complex64, DType::Complex128};
inline constexpr DTypeSet Real = Integral | Floating;
inline constexpr DTypeSet Numeric = Real | Complex;
inline constexpr DTypeSet AnyDType = Numeric | Boolean;
/// The dtypes that can carry a gradient.
inline constexpr DTypeSet Differentiable = Floating | Complex;
/// The dtypes that arithmetic kernels are compiled for.
inline constexpr DTypeSet KernelDTypes{DType::Bool, DType::Int32, DType::Int64, DType::Float32, DType::Float64};

/// The C++ type of a dtype.
template <DType>
struct CppTypeOf;

namespace detail {
template <DType D, class T>
struct DTypePair {
  using type = T;
};
}  // namespace detail

template <>
struct CppTypeOf<DType::Bool> : detail::DTypePair<DType::Bool, bool> {};
template <>
struct CppTypeOf<DType::Int8> : detail::DTypePair<DType::Int8, std::int8_t> {};
template <>
struct CppTypeOf<DType::Int16> : detail::DTypePair<DType::Int16, std::int16_t> {};
template <>
struct CppTypeOf<DType::Int32> : detail::DTypePair<DType::Int32, std::int32_t> {};
template <>
struct CppTypeOf<DType::Int64> : detail::DTypePair<DType::Int64, std::int64_t> {};
template <>
struct CppTypeOf<DType::UInt8> : detail::DTypePair<DType::UInt8, std::uint8_t> {};
template <>
struct CppTypeOf<DType::UInt16> : detail::DTypePair<DType::UInt16, std::uint16_t> {};
template <>
struct CppTypeOf<DType::UInt32> : detail::DTypePair<DType::UInt32, std::uint32_t> {};
template <>
struct CppTypeOf<DType::UInt64> : detail::DTypePair<DType::UInt64, std::uint64_t> {};
template <>
struct CppTypeOf<DType::Float16> : detail::DTypePair<DType::Float16, Half> {};
template <>
struct CppTypeOf<DType::BFloat16> : detail::DTypePair<DType::BFloat16, BFloat16> {};
template <>
struct CppTypeOf<DType::Float32> : detail::DTypePair<DType::Float32, float> {};
template <>
struct CppTypeOf<DType::Float64> : detail::DTypePair<DType::Float64, double> {};
template <>
struct CppTypeOf<DType::Complex64> : detail::DTypePair<DType::Complex64, std::complex<float>> {};
template <>
struct CppTypeOf<DType::Complex128> : detail::DTypePair<DType::Complex128, std::complex<double>> {};

template <DType D>
using cpp_type = typename CppTypeOf<D>::type;

namespace detail {
template <class T, std::size_t I = 0>
constexpr DType find_dtype() {
  static_assert(I < kDTypeCount, "no dtype holds this C++ type");
  if constexpr (std::is_same_v<T, cpp_type<static_cast<DType>(I)>>) {
    return static_cast<DType>(I);
  } else {
    return find_dtype<T, I + 1>();
  }
}
}  // namespace detail

/// The dtype of a C++ element type, for example dtype_of<float> == DType::Float32.
template <class T>
inline constexpr DType dtype_of = detail::find_dtype<T>();

inline constexpr std::array<std::uint8_t, kDTypeCount> kItemSizes{1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
inline constexpr std::array<std::string_view, kDTypeCount> kDTypeNames{
    "bool",   "int8",    "int16",    "int32",   "int64",   "uint8",     "uint16",    "uint32",
    "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"};

/// Number of bytes of one element.
constexpr std::size_t item_size(DType dtype) { return kItemSizes[static_cast<std::size_t>(dtype)]; }
/// Returns the name as Python spells it.
constexpr std::string_view name(DType dtype) { return kDTypeNames[static_cast<std::size_t>(dtype)]; }
std::ostream& operator<<(std::ostream& out, DType dtype);

constexpr bool is_floating(DType dtype) { return Floating.contains(dtype); }
constexpr bool is_complex(DType dtype) { return Complex.contains(dtype); }
constexpr bool is_integral(DType dtype) { return Integral.contains(dtype); }
/// True if tensors of this dtype can have a gradient.
constexpr bool is_differentiable(DType dtype) { return Differentiable.contains(dtype); }

/// Returns the dtype that holds values of both, by the promotion rules of the Python array API standard (2024.12),
/// extended as in PyTorch where it leaves a pair undefined: bool with a number gives the number's dtype, an integer
/// with a floating dtype gives the floating dtype, float16 with bfloat16 gives float32. Throws TypeError for uint64
/// with a signed integer, because no integer dtype holds both.
DType promote_types(DType a, DType b);

/// Calls f.operator()<T>() with the C++ type of `dtype` and returns its result. `dtype` must be in `Set`; otherwise
/// throws TypeError that names `what`.
template <DTypeSet Set, class F>
decltype(auto) visit(DType dtype, std::string_view what, F&& f) {
  constexpr DType kFirst = static_cast<DType>(std::countr_zero(Set.bits));
  using R = decltype(f.template operator()<cpp_type<kFirst>>());
  R (*selected)(F&) = nullptr;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (
        [&] {
          if constexpr (Set.contains(static_cast<DType>(I))) {
            if (dtype == static_cast<DType>(I)) {
              selected = [](F& g) -> R { return g.template operator()<cpp_type<static_cast<DType>(I)>>(); };
            }
          }
        }(),
        ...);
  }(std::make_index_sequence<kDTypeCount>{});
  if (!selected) fail<TypeError>("[", what, "] does not take dtype ", name(dtype));
  return selected(f);
}

}  // namespace lamella
