#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// Returns the rows of a matrix: result[i] = x[rows[i]]. `x` is [n, width] with any strides; `rows` is int64, one axis,
/// contiguous, with values in [0, n) that the caller has checked. The gradient is scatter_rows().
Tensor gather_rows(const Tensor& x, const Tensor& rows);
/// Returns the transpose of gather_rows(): a matrix of `count` rows with result[rows[i]] += x[i], in the order of i.
Tensor scatter_rows(const Tensor& x, const Tensor& rows, std::int64_t count);

}  // namespace lamella
