#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/linalg/factor.h"
#include "ops/op_info.h"

// Factors of symmetric and Hermitian matrices that may be indefinite (Bunch and Kaufman, Some stable methods for
// calculating inertia and solving symmetric linear systems, 1977), and solutions with them.

namespace lamella {

struct LinalgLdlFactorEx {
  static constexpr OpInfo info{
      .name = "linalg_ldl_factor_ex",
      .doc =
          "The factors of symmetric, or with hermitian=True Hermitian, matrices, of which the lower triangles are "
          "read: "
          "the triangular and the block diagonal one in one matrix and the exchanges of rows (int32), as LAPACK's "
          "sytrf "
          "and hetrf give them and ldl_solve takes them. For each matrix there is (int32) 0, or which number on the "
          "diagonal, from 1 on, is 0 and makes it singular; with check_errors=True that is a ValueError. They have no "
          "gradient.",
      .parameters = "x, /, *, hermitian=False, check_errors=False",
      .example = "linalg.ldl_factor_ex(eye(2)).LD",
      .dtypes = linalg::Decomposable,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x, bool hermitian, bool check_errors);
};

struct LinalgLdlSolve {
  static constexpr OpInfo info{
      .name = "linalg_ldl_solve",
      .doc =
          "The solution y of x @ y == b, where ld and pivots are what ldl_factor gives for the matrices x. b holds "
          "matrices, and the leading axes broadcast. The gradient is that with respect to b; one with respect to ld is "
          "a RuntimeError.",
      .parameters = "ld, pivots, b, /, *, hermitian=False",
      .example = "linalg.ldl_solve(*linalg.ldl_factor(eye(2)), ones([2, 1]))",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian);
};

namespace linalg {

inline std::vector<Tensor> ldl_factor_ex(const Tensor& x, bool hermitian = false, bool check_errors = false) {
  return LinalgLdlFactorEx::call(x, hermitian, check_errors);
}
inline Tensor ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian = false) {
  return LinalgLdlSolve::call(ld, pivots, b, hermitian);
}

}  // namespace linalg
}  // namespace lamella
