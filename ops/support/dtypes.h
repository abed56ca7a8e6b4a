#pragma once

#include "engine/core/dtype.h"

namespace lamella {

/// The dtype of the parts of a complex one; the dtype itself where it is none.
constexpr DType real_dtype(DType dtype) {
  return dtype == DType::Complex64 ? DType::Float32 : dtype == DType::Complex128 ? DType::Float64 : dtype;
}
/// The complex dtype whose parts hold what `dtype` does, or the default one, complex64, for what is not floating.
constexpr DType complex_dtype(DType dtype) {
  return dtype == DType::Float64 || dtype == DType::Complex128 ? DType::Complex128 : DType::Complex64;
}

}  // namespace lamella
