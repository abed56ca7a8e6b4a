#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/linalg/factor.h"
#include "ops/op_info.h"

namespace lamella {

struct LinalgLstsq {
  static constexpr OpInfo info{
      .name = "linalg_lstsq",
      .doc =
          "The y of least norm among those that make x1 @ y - x2 least, the sum of the squares of what is left over "
          "for "
          "each column of x2, the rank of x1 (int64) and its singular values. x2 is a vector, with one axis, or holds "
          "matrices, and the leading axes broadcast. `driver` is LAPACK's routine: 'gelsy' (QR with exchanged "
          "columns), "
          "'gels' (QR, for matrices of full rank; ValueError where a row or a column is 0), 'gelsd' and 'gelss' "
          "(singular "
          "values). 'gels' gives no rank, and only the last two give singular values: a tensor without elements stands "
          "for what is not there. What is up to rtol (max(m, n) times the dtype's epsilon) times the largest one "
          "counts "
          "as 0; rtol may be a tensor with one number for each matrix. The gradient is that at a fixed rank (Golub and "
          "Pereyra, The differentiation of pseudo-inverses, 1973); rank and singular values have none.",
      .parameters = "x1, x2, /, *, rtol=None, driver='gelsy'",
      .example = "linalg.lstsq(ones([3, 1]), ones([3])).solution",
      .reference = "np.linalg.lstsq(x1, x2, rtol)",
      .dtypes = linalg::Decomposable,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x1, const Tensor& x2, const std::optional<Tensor>& rtol,
                                  std::string_view driver);
};

namespace linalg {

inline std::vector<Tensor> lstsq(const Tensor& x1, const Tensor& x2, const std::optional<Tensor>& rtol = std::nullopt,
                                 std::string_view driver = "gelsy") {
  return LinalgLstsq::call(x1, x2, rtol, driver);
}

}  // namespace linalg
}  // namespace lamella
