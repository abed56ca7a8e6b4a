#pragma once

#include <utility>

#include "engine/core/tensor.h"
#include "ops/support/dtypes.h"

// LAPACK on tensors: batches of matrices in the last two axes, float32, float64, complex64 and complex128, on the CPU,
// shapes alone on meta. Nothing is recorded. Batched tensors (Note [Batched tensors]) are seen to. `op` is the operator
// that errors name: ValueError where a matrix is singular, not positive definite or not finite, NotImplementedError on
// other devices and, but for real systems and their inverses, in a library built without LAPACK.

namespace lamella::linalg {

/// The dtypes that have decompositions.
inline constexpr DTypeSet Decomposable{DType::Float32, DType::Float64, DType::Complex64, DType::Complex128};

/// TypeError or ValueError unless x holds matrices of a dtype in Decomposable.
void check_matrices(const Tensor& x, const char* op);
/// The same, and they are square.
void check_square(const Tensor& x, const char* op);

/// Lower triangles l with l @ l.mH == x. Reads the lower triangles of x. With `allowed` a matrix that is not positive
/// definite is no error: the second result (int32, undefined otherwise) is the order of its first leading part that is
/// not, or 0.
std::pair<Tensor, Tensor> run_cholesky(const Tensor& x, bool allowed, const char* op);

/// Triangular factors and exchanged rows, for run_solve() and determinants alone: what getrf makes of the matrices, or,
/// of complex ones, of their transposes.
struct Factors {
  Tensor lu;
  Tensor pivots;
};
enum class Singular : std::uint8_t { Refused, Allowed };
Factors run_factor(const Tensor& x, Singular singular, const char* op);
/// The solutions y of x @ y == b, or of x.mH @ y == b, where `factors` are those of x. The leading axes are the same.
Tensor run_solve(const Factors& factors, const Tensor& b, bool adjoint, const char* op);
/// The sign (a number of magnitude 1, or 0) and the logarithm of the magnitude of the determinants.
std::pair<Tensor, Tensor> run_slogdet(const Factors& factors);
/// The determinants.
Tensor run_det(const Factors& factors);

/// The triangular factors of any matrices, l without its unit diagonal and u, in one matrix, and the exchanges of rows
/// as getrf gives them (int32, from 1 on). Singular matrices have some, too.
std::pair<Tensor, Tensor> run_lu(const Tensor& x, const char* op);
/// What the exchanges of matrices with so many rows come to: which row of x each row of p^T x is (int64). ValueError
/// for an exchange with a row that is not there.
Tensor run_permutation(const Tensor& pivots, std::int64_t rows, const char* op);

/// The inverses. Where it is allowed a singular matrix is no error, but NaN: the second result (int32, undefined
/// otherwise) is which pivot is 0, from 1 on, or 0.
std::pair<Tensor, Tensor> run_inverse(const Tensor& x, Singular singular, const char* op);

/// Which of the two triangular matrices x, or its transpose or adjoint, a system is solved with.
struct Triangle {
  bool upper = false;
  bool unit_diagonal = false;
  bool adjoint = false;
};
/// The solutions y of x @ y == b (x.mH @ y == b), reading one triangle of x. The leading axes are the same.
Tensor run_triangular(const Tensor& x, const Tensor& b, Triangle triangle, const char* op);

/// q and r with q @ r == x: [m, k] and [k, n], where k = min(m, n), or m for `complete`.
std::pair<Tensor, Tensor> run_qr(const Tensor& x, bool complete, const char* op);

/// Eigenvalues, ascending, and, where asked for (undefined otherwise), eigenvectors in columns, of Hermitian matrices
/// of which the lower triangles are read.
std::pair<Tensor, Tensor> run_eigh(const Tensor& x, bool vectors, const char* op);

/// Complex eigenvalues and, where asked for (undefined otherwise), eigenvectors of length 1 in columns, of any square
/// matrices.
std::pair<Tensor, Tensor> run_eig(const Tensor& x, bool vectors, const char* op);

struct Singulars {
  Tensor u;  ///< undefined where only values were asked for
  Tensor s;
  Tensor vh;
};
enum class SingularVectors : std::uint8_t { None, Reduced, Full };
Singulars run_svd(const Tensor& x, SingularVectors vectors, const char* op);

/// The routine of LAPACK that solves for least squares: by QR for matrices of full rank, by QR with exchanged columns,
/// which gives the rank, or by singular values, which it gives, too (divide and conquer, or QR iterations).
enum class LeastSquaresDriver : std::uint8_t { Gels, Gelsy, Gelsd, Gelss };
struct LeastSquares {
  Tensor solution;
  Tensor rank;             ///< int64; of no elements where it is not found out
  Tensor singular_values;  ///< of no elements where they are not
};
/// The y of least norm among those that make x @ y - b least. `rcond` (float64, one for each matrix) is what singular
/// values, or the diagonal of r, are compared with, relative to the largest. The leading axes are the same.
LeastSquares run_least_squares(const Tensor& x, const Tensor& b, const Tensor& rcond, LeastSquaresDriver driver,
                               const char* op);

}  // namespace lamella::linalg
