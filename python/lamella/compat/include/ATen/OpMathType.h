#pragma once

#include "c10/core/ScalarType.h"

namespace at {

namespace detail {
template <class T>
struct OpMath {
  using type = T;
};
template <>
struct OpMath<c10::Half> {
  using type = float;
};
template <>
struct OpMath<c10::BFloat16> {
  using type = float;
};
}  // namespace detail

/// Type that kernels compute in for elements of a type.
template <class T>
using opmath_type = typename detail::OpMath<T>::type;

}  // namespace at
