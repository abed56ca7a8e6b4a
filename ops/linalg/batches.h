#pragma once

#include <utility>

#include "engine/core/tensor.h"

// Helpers for the axes of batches of matrices: all axes before the last two.

namespace lamella::linalg {

/// Returns the sizes of x's axes before the last two.
inline DimsView batch_of(const Tensor& x) { return DimsView(x.shape()).first(x.ndim() - 2); }

/// Returns the offset in elements of matrix i of x, for any strides.
std::int64_t matrix_offset(const Tensor& x, std::int64_t i);

/// Returns the matrices of x broadcast to the batch axes `batch`.
Tensor to_batch(const Tensor& x, const Dims& batch);

/// Returns both with their batch axes broadcast to each other; throws ValueError if they do not fit.
std::pair<Tensor, Tensor> with_equal_batches(const Tensor& a, const Tensor& b, const char* op);

/// The factors of a matrix and the right side of an equation with it, of one dtype.
struct FactoredEquation {
  Tensor factors;
  Tensor b;
};

/// Checks the arguments of functions that solve with the square `factors` and the row exchanges `pivots`, int32. Throws
/// TypeError or ValueError if dtypes, devices or shapes do not match. `name` is the name of the factors in messages.
FactoredEquation checked_equation(const Tensor& factors, const Tensor& pivots, const Tensor& b, const char* name,
                                  const char* op);

}  // namespace lamella::linalg
