#pragma once

#include "engine/core/tensor.h"
#include "ops/linalg/factor.h"
#include "ops/op_info.h"

// Operators on the factors that cholesky() returns.

namespace lamella {

struct LinalgCholeskySolve {
  static constexpr OpInfo info{
      .name = "linalg_cholesky_solve",
      .doc =
          "The solution y of x @ y == b, where factor is the lower triangular Cholesky factor of x, or with upper=True "
          "the upper one. b holds matrices, and the leading axes broadcast. The other triangle is not read.",
      .parameters = "b, factor, /, *, upper=False",
      .example = "linalg.cholesky_solve(ones([2, 1]), eye(2))",
      .reference = "sp.linalg.cho_solve((factor, not upper), b)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& b, const Tensor& factor, bool upper);
};

struct LinalgCholeskyInverse {
  static constexpr OpInfo info{
      .name = "linalg_cholesky_inverse",
      .doc =
          "The inverses of matrices of which factor is the lower triangular Cholesky factor, or with upper=True the "
          "upper one. The other triangle is not read, nor are imaginary parts of the diagonal. ValueError for a zero "
          "there.",
      .parameters = "factor, /, *, upper=False",
      .example = "linalg.cholesky_inverse(full([1, 1], 2.0))",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& factor, bool upper);
};

namespace linalg {

inline Tensor cholesky_solve(const Tensor& b, const Tensor& factor, bool upper = false) {
  return LinalgCholeskySolve::call(b, factor, upper);
}
inline Tensor cholesky_inverse(const Tensor& factor, bool upper = false) {
  return LinalgCholeskyInverse::call(factor, upper);
}

}  // namespace linalg
}  // namespace lamella
