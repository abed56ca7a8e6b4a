#pragma once

#include "ops/linalg/factor.h"

// Calls of LAPACK for batches of matrices in contiguous tensors on the CPU. What is called `columns` holds the matrices
// column after column, which is how LAPACK wants them; to it a row-major matrix is its own transpose.

namespace lamella::linalg::lapack {

/// In place, row-major. `info` (int32) gets LAPACK's, the order of the first leading part that is not positive definite
/// or 0; where it is undefined such a matrix is an error.
void cholesky(const Tensor& a, const Tensor& info, const char* op);
/// In place; `pivots` is int32.
void factor(const Tensor& a, const Tensor& pivots, Singular singular, const char* op);
void solve(const Factors& factors, const Tensor& columns, bool adjoint, const char* op);
/// In place; matrices of any shape and int32.
void lu(const Tensor& columns, const Tensor& pivots, const char* op);
/// The inverse of the matrix that a, row-major, is a Cholesky factor of; in place.
void cholesky_inverse(const Tensor& a, bool upper, const char* op);
/// In place. `info` (int32) gets LAPACK's, which pivot is 0 and makes a matrix of NaN, or 0; where it is undefined a
/// singular matrix is an error.
void inverse(const Tensor& a, const Tensor& info, const char* op);
/// b is row-major, and becomes the solution.
void triangular(const Tensor& a, const Tensor& b, Triangle triangle, const char* op);
/// Destroys `columns`; r is row-major. Both have min(m, n) columns and rows, or m.
void qr(const Tensor& columns, const Tensor& q_columns, const Tensor& r, const char* op);
void geqrf(const Tensor& columns, const Tensor& tau, const char* op);
void householder(const Tensor& columns, const Tensor& tau, const Tensor& q_columns, const char* op);
/// c_columns become q c, or q^H c, with q the square product of the reflections.
void reflect(const Tensor& columns, const Tensor& tau, const Tensor& c_columns, bool adjoint, const char* op);
/// `columns` becomes the eigenvectors, or is destroyed.
void eigh(const Tensor& columns, const Tensor& values, bool vectors, const char* op);
/// The lower triangles of `columns` become the factors, and the others 0; pivots (int32) are LAPACK's, as is `info`,
/// one int32 for each matrix. Where it is undefined a singular matrix is an error.
void ldl(const Tensor& columns, const Tensor& pivots, const Tensor& info, bool hermitian, const char* op);
/// `b_columns` becomes the solution.
void ldl_solve(const Tensor& columns, const Tensor& pivots, const Tensor& b_columns, bool hermitian, const char* op);
/// Destroys `columns`. `values` and `vector_columns` are complex; the latter is undefined where no vectors are wanted.
void eig(const Tensor& columns, const Tensor& values, const Tensor& vector_columns, const char* op);
/// Destroys `columns`. Those of b are max(m, n) long, and their first n elements become the solutions.
void least_squares(const Tensor& columns, const Tensor& b_columns, const Tensor& rcond, LeastSquaresDriver driver,
                   const LeastSquares& to, const char* op);
/// Destroys a. Everything is row-major.
void svd(const Tensor& a, const Singulars& to, SingularVectors vectors, const char* op);

}  // namespace lamella::linalg::lapack
