#pragma once

#include "engine/core/tensor.h"

namespace lamella::linalg {

/// The complex conjugate; real x itself.
Tensor conjugate(const Tensor& x);
/// The conjugate of the transposed matrices.
Tensor adjoint(const Tensor& x);

}  // namespace lamella::linalg
