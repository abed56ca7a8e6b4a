#pragma once

#include "ops/linalg/matrices.h"

// Calls of LAPACK for batches of matrices in contiguous tensors on the CPU. An argument `columns` holds the matrices
// column-major, as LAPACK requires; LAPACK sees a row-major matrix as its transpose.

namespace lamella::linalg::lapack {

/// Factors in place, row-major. `info` (int32) receives LAPACK's: the order of the first leading part that is not
/// positive definite, or 0; if it is undefined, such a matrix is an error.
void cholesky(const Tensor& a, const Tensor& info, const char* op);
/// Factors in place; `pivots` is int32.
void factor(const Tensor& a, const Tensor& pivots, Singular singular, const char* op);
void solve(const Factors& factors, const Tensor& columns, bool adjoint, const char* op);
/// Factors matrices of any shape in place; `pivots` is int32.
void lu(const Tensor& columns, const Tensor& pivots, const char* op);
/// Overwrites the Cholesky factor a, row-major, with the inverse of its matrix.
void cholesky_inverse(const Tensor& a, bool upper, const char* op);
/// Inverts in place. `info` (int32) receives LAPACK's: the number of the zero pivot, which makes the matrix NaN, or 0;
/// if it is undefined, a singular matrix is an error.
void inverse(const Tensor& a, const Tensor& info, const char* op);
/// Overwrites b, row-major, with the solution.
void triangular(const Tensor& a, const Tensor& b, Triangle triangle, const char* op);
/// Factors and destroys `columns`; r is row-major. q and r have min(m, n) columns and rows, or m.
void qr(const Tensor& columns, const Tensor& q_columns, const Tensor& r, const char* op);
void geqrf(const Tensor& columns, const Tensor& tau, const char* op);
void householder(const Tensor& columns, const Tensor& tau, const Tensor& q_columns, const char* op);
/// Overwrites c_columns with q c, or q^H c, where q is the square product of the reflections.
void reflect(const Tensor& columns, const Tensor& tau, const Tensor& c_columns, bool adjoint, const char* op);
/// Overwrites `columns` with the eigenvectors, or destroys it.
void eigh(const Tensor& columns, const Tensor& values, bool vectors, const char* op);
/// Overwrites the lower triangles of `columns` with the factors and the others with 0. pivots (int32) are LAPACK's, as
/// is `info`, one int32 per matrix; if it is undefined, a singular matrix is an error.
void ldl(const Tensor& columns, const Tensor& pivots, const Tensor& info, bool hermitian, const char* op);
/// Overwrites `b_columns` with the solution.
void ldl_solve(const Tensor& columns, const Tensor& pivots, const Tensor& b_columns, bool hermitian, const char* op);
/// Destroys `columns`. `values` and `vector_columns` are complex; the latter is undefined if no vectors are wanted.
void eig(const Tensor& columns, const Tensor& values, const Tensor& vector_columns, const char* op);
/// Destroys `columns`. The columns of b are max(m, n) long; their first n elements become the solutions.
void least_squares(const Tensor& columns, const Tensor& b_columns, const Tensor& rcond, LeastSquaresDriver driver,
                   const LeastSquares& to, const char* op);
/// Destroys a. All matrices are row-major.
void svd(const Tensor& a, const Singulars& to, SingularVectors vectors, const char* op);

}  // namespace lamella::linalg::lapack
