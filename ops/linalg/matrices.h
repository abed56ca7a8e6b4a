#pragma once

#include <cstdint>

#include "engine/core/tensor.h"
#include "ops/support/dtypes.h"

// Matrices in the last two axes of tensors, and the forms in which their factors and solutions come.

namespace lamella::linalg {

/// The dtypes that have decompositions.
inline constexpr DTypeSet Decomposable{DType::Float32, DType::Float64, DType::Complex64, DType::Complex128};

/// Throws TypeError or ValueError unless x holds matrices of a dtype in Decomposable.
void check_matrices(const Tensor& x, const char* op);
/// Throws TypeError or ValueError unless x holds square matrices of a dtype in Decomposable.
void check_square(const Tensor& x, const char* op);

/// Triangular factors and row exchanges, for run_solve() and determinants only: getrf's result for the matrices or, if
/// complex, for their transposes.
struct Factors {
  Tensor lu;
  Tensor pivots;
};
enum class Singular : std::uint8_t { Refused, Allowed };

/// The triangle of x that a system is solved with, and whether x is replaced by its adjoint.
struct Triangle {
  bool upper = false;
  bool unit_diagonal = false;
  bool adjoint = false;
};

struct Singulars {
  Tensor u;  ///< undefined if only values are computed
  Tensor s;
  Tensor vh;
};
enum class SingularVectors : std::uint8_t { None, Reduced, Full };

/// The LAPACK routine for least squares: by QR for matrices of full rank (Gels), by QR with column pivoting, which
/// determines the rank (Gelsy), or by singular values, which it returns, with divide and conquer (Gelsd) or QR
/// iterations (Gelss).
enum class LeastSquaresDriver : std::uint8_t { Gels, Gelsy, Gelsd, Gelss };
struct LeastSquares {
  Tensor solution;
  Tensor rank;             ///< int64; empty if the rank is not determined
  Tensor singular_values;  ///< empty if they are not computed
};

}  // namespace lamella::linalg
