#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/linalg/factor.h"
#include "ops/op_info.h"

// Pseudoinverses and ranks of the matrices in the last two axes, by singular values, or by the eigenvalues of Hermitian
// matrices. The gradient is that of Golub and Pereyra, The differentiation of pseudo-inverses (1973).

namespace lamella {

struct LinalgPinv {
  static constexpr OpInfo info{
      .name = "linalg_pinv",
      .doc =
          "The Moore-Penrose pseudoinverses of matrices. Singular values up to the larger of atol and rtol times the "
          "largest one count as 0. Without them rtol is max(m, n) times the dtype's epsilon; with a positive atol "
          "alone "
          "it is 0. Both may be tensors, whose numbers are for one matrix each and broadcast. With hermitian=True the "
          "matrices are Hermitian, and their lower triangles are read. The gradient is that at a fixed rank.",
      .parameters = "x, /, *, rtol=None, atol=None, hermitian=False",
      .example = "linalg.pinv(ones([2, 3]))",
      .reference = "np.linalg.pinv(x, rtol=rtol)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& x, const std::optional<Tensor>& rtol, const std::optional<Tensor>& atol,
                     bool hermitian);
};

struct LinalgMatrixRank {
  static constexpr OpInfo info{.name = "linalg_matrix_rank",
                               .doc =
                                   "The number (int64) of singular values that are larger than both atol and rtol "
                                   "times the largest one. The tolerances and hermitian are those of pinv.",
                               .parameters = "x, /, *, rtol=None, atol=None, hermitian=False",
                               .example = "linalg.matrix_rank(ones([2, 3]))",
                               .reference = "np.linalg.matrix_rank(x, rtol=rtol)",
                               .dtypes = linalg::Decomposable,
                               .method = false};
  static Tensor call(const Tensor& x, const std::optional<Tensor>& rtol, const std::optional<Tensor>& atol,
                     bool hermitian);
};

namespace linalg {

inline Tensor pinv(const Tensor& x, const std::optional<Tensor>& rtol = std::nullopt,
                   const std::optional<Tensor>& atol = std::nullopt, bool hermitian = false) {
  return LinalgPinv::call(x, rtol, atol, hermitian);
}
inline Tensor matrix_rank(const Tensor& x, const std::optional<Tensor>& rtol = std::nullopt,
                          const std::optional<Tensor>& atol = std::nullopt, bool hermitian = false) {
  return LinalgMatrixRank::call(x, rtol, atol, hermitian);
}

}  // namespace linalg
}  // namespace lamella
