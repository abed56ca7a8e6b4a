#pragma once

#include "engine/core/tensor.h"

namespace lamella::linalg {

/// Returns the complex conjugate; real x itself.
Tensor conjugate(const Tensor& x);
/// Returns the conjugate of the transposed matrices.
Tensor adjoint(const Tensor& x);

}  // namespace lamella::linalg
