#pragma once

#include <cstdint>
#include <type_traits>

#include "ATen/OpMathType.h"

namespace at {

namespace detail {
template <class T, bool OnDevice>
struct Accumulate {
  using type = std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, std::int64_t, opmath_type<T>>;
};
// A device adds floats as floats, a CPU as doubles.
template <>
struct Accumulate<float, false> {
  using type = double;
};
template <>
struct Accumulate<std::complex<float>, false> {
  using type = std::complex<double>;
};
}  // namespace detail

/// Type that sums of elements of a type are kept in.
template <class T, bool OnDevice>
using acc_type = typename detail::Accumulate<T, OnDevice>::type;

}  // namespace at
