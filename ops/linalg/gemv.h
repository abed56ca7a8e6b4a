#pragma once

#include "engine/core/tensor.h"
#include "ops/cpu/tables/matmul.h"

// Products in which one side is a single row or column, on the CPU; limited by memory bandwidth.

namespace lamella::detail {

/// Returns a row or a column, the one along `axis`, with contiguous elements.
Tensor dense_vector(const Tensor& x, std::size_t axis);

/// Multiplies one matrix and one contiguous vector of float32 or float64; on several threads if `share`. The bits do
/// not depend on the number of threads.
void multiply_vector(const cpu::MatmulArgs& all, DType dtype, bool share);

/// Computes a column times a row, without a sum. Batches broadcast; `out` is contiguous.
void outer_product(const Tensor& a, const Tensor& b, const Tensor& out);

}  // namespace lamella::detail
