#pragma once

#include <utility>

#include "engine/core/tensor.h"
#include "ops/linalg/matrices.h"

// LAPACK on tensors: batches of matrices in the last two axes, float32, float64, complex64 and complex128, on the CPU;
// only shapes on meta. Nothing is recorded. Batched tensors (Note [Batched tensors]) are supported. `op` is the
// operator that errors name. Throws ValueError if a matrix is singular, not positive definite or not finite,
// NotImplementedError on other devices and, except for real systems and their inverses, in a library built without
// LAPACK.

namespace lamella::linalg {

/// Returns lower triangles l with l @ l.mH == x; reads the lower triangles of x. If `allowed`, a matrix that is not
/// positive definite is no error: the second result (int32, undefined otherwise) is the order of its first leading part
/// that is not, or 0.
std::pair<Tensor, Tensor> run_cholesky(const Tensor& x, bool allowed, const char* op);

Factors run_factor(const Tensor& x, Singular singular, const char* op);
/// Returns the solutions y of x @ y == b, or of x.mH @ y == b, where `factors` are those of x. The leading axes are
/// equal.
Tensor run_solve(const Factors& factors, const Tensor& b, bool adjoint, const char* op);
/// Returns the triangular factors of any matrices, l without its unit diagonal and u, in one matrix, and the row
/// exchanges as getrf returns them (int32, from 1 on). Singular matrices are allowed.
std::pair<Tensor, Tensor> run_lu(const Tensor& x, const char* op);
/// Returns the permutation that the exchanges of matrices with `rows` rows amount to: for each row of p^T x the row of
/// x (int64). Throws ValueError for an exchange with a row that does not exist.
Tensor run_permutation(const Tensor& pivots, std::int64_t rows, const char* op);

/// Returns the inverses. If singular matrices are allowed, they give NaN: the second result (int32, undefined
/// otherwise) is the number of the zero pivot, from 1 on, or 0.
std::pair<Tensor, Tensor> run_inverse(const Tensor& x, Singular singular, const char* op);

/// Returns the solutions y of x @ y == b (x.mH @ y == b), reading one triangle of x. The leading axes are equal.
Tensor run_triangular(const Tensor& x, const Tensor& b, Triangle triangle, const char* op);

/// Returns q and r with q @ r == x: [m, k] and [k, n], where k = min(m, n), or m if `complete`.
std::pair<Tensor, Tensor> run_qr(const Tensor& x, bool complete, const char* op);

/// Returns the eigenvalues, ascending, and, if `vectors` (undefined otherwise), the eigenvectors in columns, of
/// Hermitian matrices, whose lower triangles are read.
std::pair<Tensor, Tensor> run_eigh(const Tensor& x, bool vectors, const char* op);

/// Returns complex eigenvalues and, if `vectors` (undefined otherwise), eigenvectors of length 1 in columns, of any
/// square matrices.
std::pair<Tensor, Tensor> run_eig(const Tensor& x, bool vectors, const char* op);

Singulars run_svd(const Tensor& x, SingularVectors vectors, const char* op);

/// Returns the y of least norm among those that minimize x @ y - b. `rcond` (float64, one per matrix) is the bound for
/// singular values, or for the diagonal of r, relative to the largest. The leading axes are equal.
LeastSquares run_least_squares(const Tensor& x, const Tensor& b, const Tensor& rcond, LeastSquaresDriver driver,
                               const char* op);

}  // namespace lamella::linalg
