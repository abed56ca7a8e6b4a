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

struct LinalgOrmqr {
  static constexpr OpInfo info{
      .name = "linalg_ormqr",
      .doc =
          "q @ other, or other @ q with left=False, for the square product q of the reflections in x and tau. They are "
          "kept as geqrf and householder_product have them, and may be fewer than rows and columns of x. With "
          "transpose=True q is its adjoint, which is its inverse where the factors are geqrf's.",
      .parameters = "x, tau, other, /, *, left=True, transpose=False",
      .example = "linalg.ormqr(ones([3, 2]), ones([2]), ones([3, 1]))",
      .dtypes = linalg::Decomposable,
      .method = false};
  static Tensor call(const Tensor& x, const Tensor& tau, const Tensor& other, bool left, bool transpose);
};

}  // namespace lamella
