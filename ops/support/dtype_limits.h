#pragma once

#include <cstdint>

#include "engine/core/dtype.h"
#include "engine/core/tensor.h"

namespace lamella {

/// The values of finfo for a floating dtype.
struct FloatLimits {
  int bits;
  double eps;              ///< distance from 1 to the next larger number
  double max;              ///< largest finite number
  double smallest_normal;  ///< smallest positive normal number
};

/// Returns the limits of a floating dtype, or of the parts of a complex one; throws TypeError for any other dtype.
FloatLimits float_limits(DType dtype);

/// The values of iinfo for an integer dtype.
struct IntegerLimits {
  int bits;
  std::int64_t min;
  std::uint64_t max;
};

/// Returns the limits of an integer dtype; throws TypeError for any other dtype.
IntegerLimits integer_limits(DType dtype);

/// True if `value` is not an integer, or if `dtype`, which is an integer dtype, holds it.
bool fits_into_integers(Scalar value, DType dtype);

/// True if `value` is not an integer, or if `dtype` is not an integer dtype or holds it.
inline bool fits_into(const Scalar& value, DType dtype) {
  return !is_integral(dtype) || fits_into_integers(value, dtype);
}

/// True if `dtype` is of a kind defined by the array API standard: "bool", "signed integer", "unsigned integer",
/// "integral", "real floating", "complex floating" or "numeric". Throws ValueError for any other name.
bool is_of_kind(DType dtype, std::string_view kind);

}  // namespace lamella
