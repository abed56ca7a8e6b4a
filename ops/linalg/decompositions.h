#pragma once

#include <string_view>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/linalg/factor.h"
#include "ops/op_info.h"

// Factorizations of the matrices in the last two axes, by LAPACK. The gradients are those of Giles (An extended
// collection of matrix derivative results, 2008), Townsend (Differentiating the singular value decomposition, 2016)
// and, for QR, of Walter and Lehmann (Algorithmic differentiation of linear algebra functions, 2018) and Liao et al.
// (Differentiable programming tensor networks, 2019).

namespace lamella {

struct LinalgCholesky {
  static constexpr OpInfo info{
      .name = "linalg_cholesky",
      .doc =
          "The lower triangular matrices l with l @ l.mH == x, or with upper=True the upper ones u with u.mH @ u == x, "
          "of Hermitian positive definite matrices, of which that triangle is read. ValueError for one that is "
          "not positive definite. The gradient is Hermitian.",
      .parameters = "x, /, *, upper=False",
      .example = "linalg.cholesky(full([1, 1], 4.0))",
      .reference = "np.linalg.cholesky(x)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& x, bool upper);
};

struct LinalgCholeskyEx {
  static constexpr OpInfo info{
      .name = "linalg_cholesky_ex",
      .doc =
          "The factors of cholesky(), and for each matrix (int32) 0, or the order of its first leading part that is "
          "not positive definite: then its factor means nothing. With check_errors=True that is a ValueError.",
      .parameters = "x, /, *, upper=False, check_errors=False",
      .example = "linalg.cholesky_ex(full([1, 1], -4.0)).info",
      .dtypes = linalg::Decomposable,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x, bool upper, bool check_errors);
};

struct LinalgQr {
  static constexpr OpInfo info{
      .name = "linalg_qr",
      .doc =
          "Matrices q with orthonormal columns and upper triangular r with q @ r == x. For x of shape [m, n] q has "
          "min(m, n) columns with mode='reduced' and m with mode='complete'. The gradient wants the first min(m, n) "
          "columns of x to be independent, and the reduced form where m > n.",
      .parameters = "x, /, *, mode='reduced'",
      .example = "linalg.qr(ones([3, 2]))",
      .reference = "np.linalg.qr(x, mode)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x, std::string_view mode);
};

struct LinalgEigh {
  static constexpr OpInfo info{
      .name = "linalg_eigh",
      .doc =
          "Eigenvalues, ascending, and eigenvectors, in the columns of a matrix, of Hermitian matrices, of which the "
          "lower triangles are read, or with UPLO='U' the upper ones. ValueError for elements there that are not "
          "finite. The gradient is Hermitian; that of "
          "the vectors is not finite where two eigenvalues are the same, and a function of them is to be one that "
          "their signs (or phases) do not change.",
      .parameters = "x, /, *, UPLO='L'",
      .example = "linalg.eigh(ones([2, 2]))",
      .reference = "np.linalg.eigh(x, UPLO)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x, std::string_view uplo);
};

struct LinalgEigvalsh {
  static constexpr OpInfo info{
      .name = "linalg_eigvalsh",
      .doc =
          "The eigenvalues, ascending, of Hermitian matrices, of which the lower triangles are read, or with UPLO='U' "
          "the upper ones. ValueError for elements there that are not finite.",
      .parameters = "x, /, *, UPLO='L'",
      .example = "linalg.eigvalsh(ones([2, 2]))",
      .reference = "np.linalg.eigvalsh(x, UPLO)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& x, std::string_view uplo);
};

struct LinalgEig {
  static constexpr OpInfo info{
      .name = "linalg_eig",
      .doc =
          "Eigenvalues, in no order, and eigenvectors of length 1, in the columns of a matrix, of square matrices; "
          "both "
          "complex. ValueError for elements that are not finite. The gradient is not finite where two eigenvalues are "
          "the same, and a function of the vectors is to be one that their phases do not change.",
      .example = "linalg.eig(eye(2))",
      .reference = "np.linalg.eig(x)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x);
};

struct LinalgEigvals {
  static constexpr OpInfo info{
      .name = "linalg_eigvals",
      .doc = "The complex eigenvalues, in no order, of square matrices. ValueError for elements that are not finite.",
      .example = "linalg.eigvals(eye(2))",
      .reference = "np.linalg.eigvals(x)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& x);
};

struct LinalgSvd {
  static constexpr OpInfo info{
      .name = "linalg_svd",
      .doc =
          "u, s and vh with u @ diag(s) @ vh == x: s descending, the columns of u and the rows of vh orthonormal. For "
          "x "
          "of shape [m, n] u is [m, m] and vh [n, n], or [m, k] and [k, n] with k = min(m, n) for full_matrices=False. "
          "ValueError for elements that are not finite. The gradient of u and vh is not finite where two singular "
          "values are the same (or one is 0 and x is not square), wants full_matrices=False where x is not square, and "
          "a function of them that signs (or phases) do not change.",
      .parameters = "x, /, *, full_matrices=True",
      .example = "linalg.svd(ones([3, 2]), full_matrices=False)",
      .reference = "np.linalg.svd(x, full_matrices)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x, bool full_matrices);
};

struct LinalgSvdvals {
  static constexpr OpInfo info{
      .name = "linalg_svdvals",
      .doc = "The singular values of matrices, descending. ValueError for elements that are not finite.",
      .example = "linalg.svdvals(ones([3, 2]))",
      .reference = "np.linalg.svd(x, compute_uv=False)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& x);
};

namespace linalg {

inline Tensor cholesky(const Tensor& x, bool upper = false) { return LinalgCholesky::call(x, upper); }
inline std::vector<Tensor> qr(const Tensor& x, std::string_view mode = "reduced") { return LinalgQr::call(x, mode); }
inline std::vector<Tensor> cholesky_ex(const Tensor& x, bool upper = false, bool check_errors = false) {
  return LinalgCholeskyEx::call(x, upper, check_errors);
}
inline std::vector<Tensor> eigh(const Tensor& x, std::string_view uplo = "L") { return LinalgEigh::call(x, uplo); }
inline Tensor eigvalsh(const Tensor& x, std::string_view uplo = "L") { return LinalgEigvalsh::call(x, uplo); }
inline std::vector<Tensor> eig(const Tensor& x) { return LinalgEig::call(x); }
inline Tensor eigvals(const Tensor& x) { return LinalgEigvals::call(x); }
inline std::vector<Tensor> svd(const Tensor& x, bool full_matrices = true) { return LinalgSvd::call(x, full_matrices); }
inline Tensor svdvals(const Tensor& x) { return LinalgSvdvals::call(x); }

}  // namespace linalg
}  // namespace lamella
