#pragma once

#include <utility>

#include "engine/core/tensor.h"

// The axes before the last two: those of batches of matrices.

namespace lamella::linalg {

/// The axes of x before the last two.
inline DimsView batch_of(const Tensor& x) { return DimsView(x.shape()).first(x.ndim() - 2); }

/// Elements from the first matrix of x to matrix i, whatever the strides.
std::int64_t matrix_offset(const Tensor& x, std::int64_t i);

/// The matrices of x repeated along the axes of a batch.
Tensor to_batch(const Tensor& x, const Dims& batch);

/// Both with the axes of batches that theirs are broadcast to; ValueError where these do not fit each other.
std::pair<Tensor, Tensor> with_equal_batches(const Tensor& a, const Tensor& b, const char* op);

/// A matrix in factors, and the right side of an equation with it, of one dtype.
struct FactoredEquation {
  Tensor factors;
  Tensor b;
};

/// What functions check that solve with the square `factors` and the exchanges of their rows, int32: TypeError or
/// ValueError where dtypes, devices or shapes do not belong together. `name` is that of the factors.
FactoredEquation checked_equation(const Tensor& factors, const Tensor& pivots, const Tensor& b, const char* name,
                                  const char* op);

}  // namespace lamella::linalg
