#pragma once

#include "engine/core/tensor.h"
#include "ops/linalg/cpu/matmul_table.h"

// Products of which one side is a single row or column, on the CPU: they are as fast as memory.

namespace lamella::detail {

/// A row or a column, that along `axis`, whose numbers are neighbors.
Tensor dense_vector(const Tensor& x, std::size_t axis);

/// One matrix and one vector of float32 or float64, dense where the other's rows are; on several threads where `share`
/// is set. The bits do not depend on how many.
void multiply_vector(const cpu::MatmulArgs& all, DType dtype, bool share);

/// A column times a row: nothing is summed. Batches broadcast. `out` is contiguous.
void outer_product(const Tensor& a, const Tensor& b, const Tensor& out);

}  // namespace lamella::detail
