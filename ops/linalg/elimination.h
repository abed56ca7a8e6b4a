#pragma once

#include "ops/linalg/factor.h"

// Gaussian elimination of real matrices, row after row, by kernels of ours: OpenBLAS's getrf (0.3.21) takes 1.4 times
// as long as MKL's with vectors of 64 bytes, and wants the columns in one piece.

namespace lamella::linalg {

/// Whether there are kernels for matrices like x: real numbers on the CPU.
bool has_elimination(const Tensor& x);

/// The contiguous matrices become their factors, as getrf has them: p^T x = l u, the exchanges counted from 1 (int32).
void eliminate(const Tensor& rows, const Tensor& pivots);

/// ValueError where the diagonal of some factors has a 0.
void check_pivots(const Tensor& lu, const char* op);

/// The solutions y of x @ y == b, or of x.mT @ y == b, where `factors` are what eliminate() made of x. The leading axes
/// are the same.
Tensor solve_eliminated(const Factors& factors, const Tensor& b, bool transposed);

/// The inverses of the contiguous matrices, which are destroyed. `info` gets which pivot is 0, from 1 on, and the
/// inverse is NaN; where it is undefined a singular matrix is a ValueError.
Tensor invert_rows(const Tensor& rows, const Tensor& info, const char* op);

}  // namespace lamella::linalg
