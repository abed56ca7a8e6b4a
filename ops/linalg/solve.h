#pragma once

#include <optional>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/linalg/factor.h"
#include "ops/op_info.h"
#include "ops/operand.h"

// Linear equations, inverses and determinants of the matrices in the last two axes, by LAPACK. The gradients are in
// Giles, An extended collection of matrix derivative results (2008), section 2.2; that of the pseudoinverse in Golub
// and Pereyra, The differentiation of pseudo-inverses (1973).

namespace lamella {

struct LinalgSolve {
  static constexpr OpInfo info{
      .name = "linalg_solve",
      .doc =
          "The solution y of x1 @ y == x2, for square matrices x1. An x2 with one axis is a vector; otherwise it holds "
          "matrices, and the leading axes broadcast. ValueError where a matrix is singular. One factorization serves "
          "the solution and its gradients of every order.",
      .parameters = "x1, x2, /",
      .example = "linalg.solve(full([1, 1], 2.0), ones([1]))",
      .reference = "np.linalg.solve(x1, x2)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& x1, const Tensor& x2);
};

struct LinalgSolveTriangular {
  static constexpr OpInfo info{
      .name = "linalg_solve_triangular",
      .doc =
          "The solution y of x1 @ y == x2, or with left=False of y @ x1 == x2, where x1 is triangular: what lies in "
          "its "
          "other triangle is not read, nor is its diagonal with unitriangular=True, which is taken for ones. The "
          "leading axes broadcast. Zeros on the diagonal give infinities and NaN.",
      .parameters = "x1, x2, /, *, upper, left=True, unitriangular=False",
      .example = "linalg.solve_triangular(eye(2), ones([2, 1]), upper=True)",
      .reference = "sp.linalg.solve_triangular(x1, x2, lower=not upper)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& x1, const Tensor& x2, bool upper, bool left, bool unitriangular);
};

struct LinalgInv {
  static constexpr OpInfo info{.name = "linalg_inv",
                               .doc =
                                   "The inverses of square matrices; ValueError where one is singular. To multiply by "
                                   "an inverse, solve() takes less time and is more accurate.",
                               .parameters = "x, /",
                               .example = "linalg.inv(full([1, 1], 2.0))",
                               .reference = "np.linalg.inv(x)",
                               .dtypes = linalg::Decomposable,
                               .method = false};
  static Tensor call(const Tensor& x);
};

struct LinalgDet {
  static constexpr OpInfo info{.name = "linalg_det",
                               .doc =
                                   "The determinants of square matrices. The gradient is right for singular matrices, "
                                   "too: the cofactors, from a singular value decomposition.",
                               .parameters = "x, /",
                               .example = "linalg.det(eye(2))",
                               .reference = "np.linalg.det(x)",
                               .dtypes = linalg::Decomposable,
                               .method = false};
  static Tensor call(const Tensor& x);
};

struct LinalgSlogdet {
  static constexpr OpInfo info{
      .name = "linalg_slogdet",
      .doc =
          "The sign of the determinants of square matrices (1, -1 or 0; for complex ones of magnitude 1, or 0) and the "
          "logarithm of their magnitude, -inf for a singular matrix, at which a gradient is a ValueError.",
      .parameters = "x, /",
      .example = "linalg.slogdet(eye(2))",
      .reference = "np.linalg.slogdet(x)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x);
};

struct LinalgPinv {
  static constexpr OpInfo info{
      .name = "linalg_pinv",
      .doc =
          "The Moore-Penrose pseudoinverses of matrices. Singular values up to rtol times the largest one (by default "
          "max(m, n) times the dtype's epsilon) count as 0; rtol may be a tensor with one number for each matrix. "
          "The gradient is that at a fixed rank.",
      .parameters = "x, /, *, rtol=None",
      .example = "linalg.pinv(ones([2, 3]))",
      .reference = "np.linalg.pinv(x, rtol=rtol)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& x, const std::optional<Tensor>& rtol);
};

struct LinalgMatrixRank {
  static constexpr OpInfo info{
      .name = "linalg_matrix_rank",
      .doc =
          "How many singular values are larger than rtol (by default max(m, n) times the dtype's epsilon) times the "
          "largest one, as int64. rtol may be a tensor with one number for each matrix.",
      .parameters = "x, /, *, rtol=None",
      .example = "linalg.matrix_rank(ones([2, 3]))",
      .reference = "np.linalg.matrix_rank(x, rtol=rtol)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& x, const std::optional<Tensor>& rtol);
};

namespace linalg {

inline Tensor solve(const Tensor& x1, const Tensor& x2) { return LinalgSolve::call(x1, x2); }
inline Tensor solve_triangular(const Tensor& x1, const Tensor& x2, bool upper, bool left = true,
                               bool unitriangular = false) {
  return LinalgSolveTriangular::call(x1, x2, upper, left, unitriangular);
}
inline Tensor inv(const Tensor& x) { return LinalgInv::call(x); }
inline Tensor det(const Tensor& x) { return LinalgDet::call(x); }
inline std::vector<Tensor> slogdet(const Tensor& x) { return LinalgSlogdet::call(x); }
inline Tensor pinv(const Tensor& x, const std::optional<Tensor>& rtol = std::nullopt) {
  return LinalgPinv::call(x, rtol);
}
inline Tensor matrix_rank(const Tensor& x, const std::optional<Tensor>& rtol = std::nullopt) {
  return LinalgMatrixRank::call(x, rtol);
}

/// run_triangular() with a gradient.
Tensor solve_triangle(const Tensor& x, const Tensor& b, Triangle triangle);

}  // namespace linalg
}  // namespace lamella
