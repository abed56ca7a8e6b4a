#pragma once

#include <cmath>
#include <complex>
#include <type_traits>

#include "c10/core/ScalarType.h"
#include "c10/macros/Macros.h"

namespace at {

/// True for NaN; of a complex number, if a part is.
template <class T>
C10_HOST_DEVICE bool _isnan(T value) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else if constexpr (requires { value.imag(); }) {
    return _isnan(value.real()) || _isnan(value.imag());
  } else {
    return value != value;
  }
}
/// True for an infinity of either sign.
template <class T>
C10_HOST_DEVICE bool _isinf(T value) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isinf(value);
  } else {
    return std::isinf(static_cast<float>(value));
  }
}

}  // namespace at
