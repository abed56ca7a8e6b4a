#pragma once

#include "ops/linalg/factor.h"

// Products of real reflections, as geqrf stores them, by our own kernels. Threads share the columns, and each applies
// all blocks of reflections to its own; LAPACK's routines synchronize after each product of a block.

namespace lamella::linalg {

/// True if there are kernels for matrices like x: real numbers on the CPU.
bool has_reflections(const Tensor& x);

/// Overwrites the contiguous c with q c, or q^T c, where q is the square product of the reflections in x and tau. x and
/// tau have c's leading axes, and any strides.
void reflect_columns(const Tensor& x, const Tensor& tau, const Tensor& c, bool transposed);

/// Overwrites the contiguous q with the first columns of the product of the reflections.
void form_columns(const Tensor& x, const Tensor& tau, const Tensor& q);

/// Overwrites c with q c, where the columns of x and c, of m numbers, are contiguous and x_step and c_step elements
/// apart, as in LAPACK.
void reflect_in_memory(DType dtype, std::int64_t m, std::int64_t steps, const void* x, std::int64_t x_step,
                       const void* factors, void* c, std::int64_t c_step, std::int64_t columns);

}  // namespace lamella::linalg
