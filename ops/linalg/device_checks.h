#pragma once

#include <cstdint>
#include <string>

#include "engine/core/tensor.h"

// Checks of elements on a device, each of which waits for it once.

namespace lamella::linalg::there {

/// A matrix of a batch, and a number other than 0 that belongs to it.
struct Found {
  std::int32_t number = 0;  ///< 0 if there is none
  std::string matrix;       ///< "matrix 3 of the batch", or "the matrix"
};

/// Returns the first number other than 0; int32, one per matrix.
Found first_found(const Tensor& info);

/// Returns the number, from 1 on, of the first zero on the diagonal of each matrix, or 0 (int32).
Tensor zeros_on_diagonal(const Tensor& x);

/// Returns 1 for each matrix with an element that is not finite, and 0 for others (int32).
Tensor not_finite(const Tensor& x);

}  // namespace lamella::linalg::there
