#pragma once

#include "engine/core/tensor.h"
#include "ops/movement/cast.h"
#include "ops/support/checks.h"

namespace lamella {

/// Returns f(x) for an f that accepts float32 and float64: integers become float32; lower precision is computed in
/// float32 and cast back. Throws TypeError for complex numbers.
template <class F>
Tensor in_single_or_double(const Tensor& x, const char* op, F&& f) {
  check_defined(x, op);
  const Tensor values = as_floating(x, op);
  if (values.dtype() == DType::Float32 || values.dtype() == DType::Float64) return f(values);
  return cast(f(cast(values, DType::Float32)), values.dtype());
}

}  // namespace lamella
