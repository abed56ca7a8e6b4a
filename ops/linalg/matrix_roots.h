#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/linalg/factor.h"
#include "ops/op_info.h"

// Square roots of Hermitian matrices, and polar decompositions, which use them (Higham, Functions of matrices, 2008,
// chapters 6 and 8).

namespace lamella {

struct LinalgMatrixSqrth {
  static constexpr OpInfo info{
      .name = "linalg_matrix_sqrth",
      .doc =
          "The Hermitian positive definite matrices y with y @ y == x, for Hermitian positive definite x, of which the "
          "lower triangles are read. Negative eigenvalues count as 0. ValueError for elements that are not finite. The "
          "gradient is Hermitian, and infinite or NaN where a matrix is singular.",
      .example = "linalg.matrix_sqrth(full([1, 1], 4.0))",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& x);
};

struct LinalgPolar {
  static constexpr OpInfo info{
      .name = "linalg_polar",
      .doc =
          "u with orthonormal columns and Hermitian h without negative eigenvalues with u @ h == x, for matrices that "
          "have at least as many rows as columns. ValueError for elements that are not finite. The gradient wants "
          "matrices of full rank.",
      .example = "linalg.polar(full([1, 1], -4.0))",
      .dtypes = linalg::Decomposable,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x);
};

namespace linalg {

inline Tensor matrix_sqrth(const Tensor& x) { return LinalgMatrixSqrth::call(x); }
inline std::vector<Tensor> polar(const Tensor& x) { return LinalgPolar::call(x); }

}  // namespace linalg
}  // namespace lamella
