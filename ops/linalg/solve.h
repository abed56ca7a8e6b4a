#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/linalg/factor.h"
#include "ops/op_info.h"
#include "ops/operand.h"

// Linear equations and inverses of the matrices in the last two axes, by LAPACK. The gradients are in
// Giles, An extended collection of matrix derivative results (2008), section 2.2.

namespace lamella {

struct LinalgSolve {
  static constexpr OpInfo info{
      .name = "linalg_solve",
      .doc =
          "The solution y of x1 @ y == x2, or with left=False of y @ x1 == x2, for square matrices x1. An x2 with one "
          "axis is a vector (with left=True only); otherwise it holds matrices, and the leading axes broadcast. "
          "ValueError where a matrix is singular. One factorization serves "
          "the solution and its gradients of every order.",
      .parameters = "x1, x2, /, *, left=True",
      .example = "linalg.solve(full([1, 1], 2.0), ones([1]))",
      .reference = "np.linalg.solve(x1, x2)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& x1, const Tensor& x2, bool left);
};

struct LinalgSolveEx {
  static constexpr OpInfo info{
      .name = "linalg_solve_ex",
      .doc =
          "The solution of solve(), and for each matrix of x1 (int32) 0, or which pivot is the first that is 0, from 1 "
          "on: then that matrix is singular, and its solution has infinities or NaN. With check_errors=True that is a "
          "ValueError.",
      .parameters = "x1, x2, /, *, left=True, check_errors=False",
      .example = "linalg.solve_ex(zeros([1, 1]), ones([1])).info",
      .dtypes = linalg::Decomposable,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x1, const Tensor& x2, bool left, bool check_errors);
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
                               .example = "linalg.inv(full([1, 1], 2.0))",
                               .reference = "np.linalg.inv(x)",
                               .dtypes = linalg::Decomposable,
                               .method = false};
  static Tensor call(const Tensor& x);
};

struct LinalgInvEx {
  static constexpr OpInfo info{
      .name = "linalg_inv_ex",
      .doc =
          "The inverses of square matrices, and for each of them (int32) 0, or which pivot is the first that is 0, "
          "from "
          "1 on: then the matrix is singular, and there is NaN instead. With check_errors=True that is "
          "a ValueError.",
      .parameters = "x, /, *, check_errors=False",
      .example = "linalg.inv_ex(zeros([1, 1])).info",
      .dtypes = linalg::Decomposable,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x, bool check_errors);
};

namespace linalg {

inline Tensor solve(const Tensor& x1, const Tensor& x2, bool left = true) { return LinalgSolve::call(x1, x2, left); }
inline std::vector<Tensor> solve_ex(const Tensor& x1, const Tensor& x2, bool left = true, bool check_errors = false) {
  return LinalgSolveEx::call(x1, x2, left, check_errors);
}
inline Tensor solve_triangular(const Tensor& x1, const Tensor& x2, bool upper, bool left = true,
                               bool unitriangular = false) {
  return LinalgSolveTriangular::call(x1, x2, upper, left, unitriangular);
}
inline Tensor inv(const Tensor& x) { return LinalgInv::call(x); }
inline std::vector<Tensor> inv_ex(const Tensor& x, bool check_errors = false) {
  return LinalgInvEx::call(x, check_errors);
}

/// Calls run_triangular() with a gradient.
Tensor solve_triangle(const Tensor& x, const Tensor& b, Triangle triangle);

}  // namespace linalg
}  // namespace lamella
