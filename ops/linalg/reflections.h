#pragma once

#include <vector>

#include "engine/core/tensor.h"
#include "ops/linalg/factor.h"
#include "ops/op_info.h"

namespace lamella {

struct LinalgGeqrf {
  static constexpr OpInfo info{
      .name = "linalg_geqrf",
      .doc =
          "QR factorizations as LAPACK's geqrf keeps them: r in the upper triangles of a, below them the vectors of "
          "reflections of which q is the product, and their factors tau. They have no gradient.",
      .parameters = "x, /",
      .example = "linalg.geqrf(ones([3, 2])).tau",
      .dtypes = linalg::Decomposable,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x);
};

struct LinalgHouseholderProduct {
  static constexpr OpInfo info{
      .name = "linalg_householder_product",
      .doc =
          "The first n columns of products of reflections 1 - tau[i] v v.mH, for x of shape [m, n] with n <= m. Their "
          "vectors v are 0 in the first i rows, 1 in row i, and x[:, i] below: that is how geqrf keeps q. There may be "
          "fewer reflections than columns.",
      .parameters = "x, tau, /",
      .example = "linalg.householder_product(ones([3, 2]), ones([2]))",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& x, const Tensor& tau);
};

}  // namespace lamella
