#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/linalg/factor.h"
#include "ops/op_info.h"

// Triangular factors of any matrices, with row exchanges (Golub and Van Loan, Matrix Computations, section 3.4), and
// solutions with them. The gradient is that of Walter and Lehmann (Algorithmic differentiation of linear algebra
// functions, 2018, section 4.2), extended by the extra blocks of matrices that are not square.

namespace lamella {

struct LinalgLuFactor {
  static constexpr OpInfo info{
      .name = "linalg_lu_factor",
      .doc =
          "The triangular factors of matrices [m, n] in one matrix, l below the diagonal and u on and above it, and "
          "the "
          "exchanges of rows (int32, [min(m, n)]): row i was exchanged with row pivots[i] - 1. What lu_solve takes. A "
          "singular matrix has factors, too; the gradient wants the first min(m, n) columns to be independent. "
          "NotImplementedError for pivot=False.",
      .parameters = "x, /, *, pivot=True",
      .example = "linalg.lu_factor(eye(2))",
      .dtypes = linalg::Decomposable,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x, bool pivot);
};

struct LinalgLu {
  static constexpr OpInfo info{
      .name = "linalg_lu",
      .doc =
          "p, l and u with p @ l @ u == x: p a permutation matrix, l lower triangular with ones on its diagonal, u "
          "upper "
          "triangular. For x of shape [m, n] they are [m, m], [m, k] and [k, n], where k = min(m, n). The gradient is "
          "that of lu_factor. NotImplementedError for pivot=False.",
      .parameters = "x, /, *, pivot=True",
      .example = "linalg.lu(eye(2))",
      .reference = "sp.linalg.lu(x)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x, bool pivot);
};

struct LinalgLuUnpack {
  static constexpr OpInfo info{.name = "linalg_lu_unpack",
                               .doc =
                                   "p, l and u, as lu gives them, from the results of lu_factor for matrices [m, n]. "
                                   "Without unpack_data l and u are empty, without unpack_pivots p is, of shape [0].",
                               .parameters = "lu, pivots, /, *, unpack_data=True, unpack_pivots=True",
                               .example = "linalg.lu_unpack(*linalg.lu_factor(eye(2)))",
                               .dtypes = linalg::Decomposable,
                               .method = false};
  /// Throws ValueError if the shape of the exchanges does not fit, or for an exchange with a row that does not exist.
  static std::vector<Tensor> call(const Tensor& lu, const Tensor& pivots, bool unpack_data, bool unpack_pivots);
};

struct LinalgLuSolve {
  static constexpr OpInfo info{
      .name = "linalg_lu_solve",
      .doc =
          "The solution y of x @ y == b, or with left=False of y @ x == b, where lu and pivots are what lu_factor "
          "gives "
          "for the square matrices x; with adjoint=True the adjoint of x takes its place. b holds matrices, and the "
          "leading axes broadcast. A singular x gives infinities and NaN.",
      .parameters = "lu, pivots, b, /, *, left=True, adjoint=False",
      .example = "linalg.lu_solve(*linalg.lu_factor(eye(2)), ones([2, 1]))",
      .reference = "sp.linalg.lu_solve((lu, pivots - 1), b)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool adjoint);
};

namespace linalg {

inline std::vector<Tensor> lu_factor(const Tensor& x) { return LinalgLuFactor::call(x, true); }
inline std::vector<Tensor> lu_unpack(const Tensor& lu, const Tensor& pivots, bool unpack_data = true,
                                     bool unpack_pivots = true) {
  return LinalgLuUnpack::call(lu, pivots, unpack_data, unpack_pivots);
}
inline std::vector<Tensor> lu(const Tensor& x) { return LinalgLu::call(x, true); }
inline Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left = true,
                       bool adjoint = false) {
  return LinalgLuSolve::call(lu, pivots, b, left, adjoint);
}

}  // namespace linalg
}  // namespace lamella
