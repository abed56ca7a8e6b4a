#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// Rows of a matrix by number: result[i] = x[rows[i]]. `x` is [n, width], contiguous or not; `rows` is int64, one axis,
/// contiguous, with values in [0, n): the caller has checked them. Its gradient is scatter_rows.
Tensor gather_rows(const Tensor& x, const Tensor& rows);
/// The transpose of gather_rows: a matrix of `count` rows, result[rows[i]] += x[i], summed in the order of i.
Tensor scatter_rows(const Tensor& x, const Tensor& rows, std::int64_t count);

}  // namespace lamella
