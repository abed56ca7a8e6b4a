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

}  // namespace lamella::linalg
