#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella {

/// What finfo tells of a floating dtype.
struct FloatLimits {
  int bits;
  double eps;              ///< the distance from 1 to the next larger number
  double max;              ///< the largest finite number
  double smallest_normal;  ///< the smallest positive number with all its digits
};

/// Of a floating dtype, or of the parts of a complex one; TypeError for another.
FloatLimits float_limits(DType dtype);

/// What iinfo tells of an integer dtype.
struct IntegerLimits {
  int bits;
  std::int64_t min;
  std::uint64_t max;
};

/// Of an integer dtype; TypeError for another.
IntegerLimits integer_limits(DType dtype);

/// Whether `dtype` is of a kind that the array API standard names: "bool", "signed integer", "unsigned integer",
/// "integral", "real floating", "complex floating", "numeric". ValueError for another name.
bool is_of_kind(DType dtype, std::string_view kind);

}  // namespace lamella
