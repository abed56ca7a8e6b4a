#pragma once

#include "ops/linalg/matrices.h"

// Gaussian elimination of real row-major matrices by our own kernels: OpenBLAS's getrf (0.3.21) takes 1.4 times as long
// as MKL's with vectors of 64 bytes, and requires contiguous columns.

namespace lamella::linalg {

/// True if there are kernels for matrices like x: real numbers on the CPU.
bool has_elimination(const Tensor& x);

/// Overwrites the contiguous matrices with their factors, as getrf does: p^T x = l u, the exchanges counted from 1
/// (int32).
void eliminate(const Tensor& rows, const Tensor& pivots);

/// Throws ValueError if the diagonal of some factors contains a 0.
void check_pivots(const Tensor& lu, const char* op);

/// Returns the solutions y of x @ y == b, or of x.mT @ y == b, where `factors` are the result of eliminate() for x. The
/// leading axes are equal.
Tensor solve_eliminated(const Factors& factors, const Tensor& b, bool transposed);

/// Returns the inverses of the contiguous matrices, which are destroyed. `info` receives the number of the zero pivot,
/// from 1 on, and the inverse is NaN; if it is undefined, a singular matrix throws ValueError.
Tensor invert_rows(const Tensor& rows, const Tensor& info, const char* op);

}  // namespace lamella::linalg
