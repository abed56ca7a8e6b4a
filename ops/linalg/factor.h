#pragma once

#include <utility>

#include "engine/core/tensor.h"
#include "ops/support/dtypes.h"

// LAPACK on tensors: batches of matrices in the last two axes, float32, float64, complex64 and complex128, on the CPU;
// only shapes on meta. Nothing is recorded. Batched tensors (Note [Batched tensors]) are supported. `op` is the
// operator that errors name. Throws ValueError if a matrix is singular, not positive definite or not finite,
// NotImplementedError on other devices and, except for real systems and their inverses, in a library built without
// LAPACK.

namespace lamella::linalg {

/// The dtypes that have decompositions.
inline constexpr DTypeSet Decomposable{DType::Float32, DType::Float64, DType::Complex64, DType::Complex128};

/// Throws TypeError or ValueError unless x holds matrices of a dtype in Decomposable.
void check_matrices(const Tensor& x, const char* op);
/// Throws TypeError or ValueError unless x holds square matrices of a dtype in Decomposable.
void check_square(const Tensor& x, const char* op);

/// Returns lower triangles l with l @ l.mH == x; reads the lower triangles of x. If `allowed`, a matrix that is not
/// positive definite is no error: the second result (int32, undefined otherwise) is the order of its first leading part
/// that is not, or 0.
std::pair<Tensor, Tensor> run_cholesky(const Tensor& x, bool allowed, const char* op);

/// Triangular factors and row exchanges, for run_solve() and determinants only: getrf's result for the matrices or, if
/// complex, for their transposes.
struct Factors {
  Tensor lu;
  Tensor pivots;
};
enum class Singular : std::uint8_t { Refused, Allowed };
Factors run_factor(const Tensor& x, Singular singular, const char* op);
/// Returns the solutions y of x @ y == b, or of x.mH @ y == b, where `factors` are those of x. The leading axes are
/// equal.
Tensor run_solve(const Factors& factors, const Tensor& b, bool adjoint, const char* op);
/// Returns the sign (a number of magnitude 1, or 0) and the logarithm of the magnitude of the determinants.
std::pair<Tensor, Tensor> run_slogdet(const Factors& factors);
/// Returns the determinants.
Tensor run_det(const Factors& factors);

/// Returns the triangular factors of any matrices, l without its unit diagonal and u, in one matrix, and the row
/// exchanges as getrf returns them (int32, from 1 on). Singular matrices are allowed.
std::pair<Tensor, Tensor> run_lu(const Tensor& x, const char* op);
/// Returns the permutation that the exchanges of matrices with `rows` rows amount to: for each row of p^T x the row of
/// x (int64). Throws ValueError for an exchange with a row that does not exist.
Tensor run_permutation(const Tensor& pivots, std::int64_t rows, const char* op);

/// Returns the inverses. If singular matrices are allowed, they give NaN: the second result (int32, undefined
/// otherwise) is the number of the zero pivot, from 1 on, or 0.
std::pair<Tensor, Tensor> run_inverse(const Tensor& x, Singular singular, const char* op);

/// The triangle of x that a system is solved with, and whether x is replaced by its adjoint.
struct Triangle {
  bool upper = false;
  bool unit_diagonal = false;
  bool adjoint = false;
};
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

struct Singulars {
  Tensor u;  ///< undefined if only values are computed
  Tensor s;
  Tensor vh;
};
enum class SingularVectors : std::uint8_t { None, Reduced, Full };
Singulars run_svd(const Tensor& x, SingularVectors vectors, const char* op);

/// The LAPACK routine for least squares: by QR for matrices of full rank (Gels), by QR with column pivoting, which
/// determines the rank (Gelsy), or by singular values, which it returns, with divide and conquer (Gelsd) or QR
/// iterations (Gelss).
enum class LeastSquaresDriver : std::uint8_t { Gels, Gelsy, Gelsd, Gelss };
struct LeastSquares {
  Tensor solution;
  Tensor rank;             ///< int64; empty if the rank is not determined
  Tensor singular_values;  ///< empty if they are not computed
};
/// Returns the y of least norm among those that minimize x @ y - b. `rcond` (float64, one per matrix) is the bound for
/// singular values, or for the diagonal of r, relative to the largest. The leading axes are equal.
LeastSquares run_least_squares(const Tensor& x, const Tensor& b, const Tensor& rcond, LeastSquaresDriver driver,
                               const char* op);

}  // namespace lamella::linalg
