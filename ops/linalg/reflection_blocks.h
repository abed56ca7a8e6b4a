#pragma once

#include "ops/linalg/factor.h"

// Products of real reflections, as geqrf keeps them, by kernels of ours. Threads share the columns that they are
// applied to, each with all blocks of reflections: in LAPACK's routines they meet after each product of a block.

namespace lamella::linalg {

/// Whether there are kernels for matrices like x: real numbers on the CPU.
bool has_reflections(const Tensor& x);

/// c, which is contiguous, becomes q c, or q^T c, with q the square product of the reflections in x and tau. x and tau
/// have c's leading axes, and any strides.
void reflect_columns(const Tensor& x, const Tensor& tau, const Tensor& c, bool transposed);

/// q, which is contiguous, becomes the first columns of that product.
void form_columns(const Tensor& x, const Tensor& tau, const Tensor& q);

/// c becomes q c, where the columns of x and of c, of m numbers, are in one piece and so many elements apart: as LAPACK
/// has them.
void reflect_in_memory(DType dtype, std::int64_t m, std::int64_t steps, const void* x, std::int64_t x_step,
                       const void* factors, void* c, std::int64_t c_step, std::int64_t columns);

}  // namespace lamella::linalg
