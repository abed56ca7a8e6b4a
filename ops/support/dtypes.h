#pragma once

#include "engine/core/dtype.h"

namespace lamella {

/// Returns the dtype of the parts of a complex dtype; any other dtype unchanged.
constexpr DType real_dtype(DType dtype) {
  return dtype == DType::Complex64 ? DType::Float32 : dtype == DType::Complex128 ? DType::Float64 : dtype;
}
/// Returns the complex dtype with parts of the precision of `dtype`, or complex64 if it is not floating.
constexpr DType complex_dtype(DType dtype) {
  return dtype == DType::Float64 || dtype == DType::Complex128 ? DType::Complex128 : DType::Complex64;
}

/// True for the dtypes of 16 bits, whose sums and products are computed in float32 and rounded once.
constexpr bool is_half(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

/// True for integers of 32 and 64 bits, whose differences are lost in float32 where they are large. What becomes of
/// them in floating numbers is computed in float64 and rounded once.
constexpr bool is_wide_integer(DType dtype) { return Integral.contains(dtype) && item_size(dtype) >= 4; }

}  // namespace lamella
