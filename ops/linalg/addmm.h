#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Products of matrices and vectors of one form each, and such products added to a tensor: beta * input + alpha *
// product. PyTorch's names for matmul() and additions. With beta 0 the values of input are ignored, including NaN and
// infinity.

namespace lamella {

struct Mm {
  static constexpr OpInfo info{.name = "mm",
                               .doc = "The product of two matrices; ValueError for anything else (see matmul).",
                               .parameters = "x1, x2, /",
                               .example = "mm(ones([2, 3]), ones([3, 2]))",
                               .reference = "np.matmul(x1, x2)",
                               .dtypes = Numeric};
  static Tensor call(const Tensor& x1, const Tensor& x2);
};

struct Mv {
  static constexpr OpInfo info{.name = "mv",
                               .doc = "The product of a matrix and a vector; ValueError for anything else.",
                               .parameters = "x, vec, /",
                               .example = "mv(ones([2, 3]), ones([3]))",
                               .reference = "np.matmul(x, vec)",
                               .dtypes = Numeric};
  static Tensor call(const Tensor& x, const Tensor& vec);
};

struct Bmm {
  static constexpr OpInfo info{
      .name = "bmm",
      .doc = "The products of as many pairs of matrices, [b, n, m] and [b, m, p]; ValueError for anything else.",
      .parameters = "x1, x2, /",
      .example = "bmm(ones([4, 2, 3]), ones([4, 3, 2]))",
      .reference = "np.matmul(x1, x2)",
      .dtypes = Numeric};
  static Tensor call(const Tensor& x1, const Tensor& x2);
};

struct Inner {
  static constexpr OpInfo info{.name = "inner",
                               .doc =
                                   "The sums of products over the last axes, which have the same length, for each pair "
                                   "of the other indices; the plain product if one is a 0-d tensor.",
                               .parameters = "x1, x2, /",
                               .example = "inner(ones([2, 3]), ones([4, 3]))",
                               .reference = "np.inner(x1, x2)",
                               .dtypes = Numeric};
  static Tensor call(const Tensor& x1, const Tensor& x2);
};

struct Addmm {
  static constexpr OpInfo info{.name = "addmm",
                               .doc = "beta * input + alpha * (mat1 @ mat2), where input broadcasts to the product.",
                               .parameters = "input, mat1, mat2, /, *, beta=1, alpha=1",
                               .example = "addmm(ones([2]), ones([3, 4]), ones([4, 2]))",
                               .reference = "beta * input + alpha * (mat1 @ mat2)",
                               .dtypes = Numeric,
                               .autocast = Autocast::Lower};
  /// Throws ValueError if mat1 and mat2 are not matrices of matching shapes, or if input does not broadcast to their
  /// product.
  static Tensor call(const Tensor& input, const Tensor& mat1, const Tensor& mat2, Scalar beta, Scalar alpha);
};

struct Addmv {
  static constexpr OpInfo info{.name = "addmv",
                               .doc = "beta * input + alpha * (mat @ vec), where input broadcasts to the product.",
                               .parameters = "input, mat, vec, /, *, beta=1, alpha=1",
                               .example = "addmv(ones([2]), ones([2, 3]), ones([3]))",
                               .reference = "beta * input + alpha * (mat @ vec)",
                               .dtypes = Numeric,
                               .autocast = Autocast::Lower};
  static Tensor call(const Tensor& input, const Tensor& mat, const Tensor& vec, Scalar beta, Scalar alpha);
};

struct Addr {
  static constexpr OpInfo info{
      .name = "addr",
      .doc = "beta * input + alpha * outer(vec1, vec2), where input broadcasts to the product.",
      .parameters = "input, vec1, vec2, /, *, beta=1, alpha=1",
      .example = "addr(ones([2, 3]), ones([2]), ones([3]))",
      .reference = "beta * input + alpha * np.outer(vec1, vec2)"};
  static Tensor call(const Tensor& input, const Tensor& vec1, const Tensor& vec2, Scalar beta, Scalar alpha);
};

struct Baddbmm {
  static constexpr OpInfo info{
      .name = "baddbmm",
      .doc = "beta * input + alpha * bmm(batch1, batch2), where input broadcasts to the product.",
      .parameters = "input, batch1, batch2, /, *, beta=1, alpha=1",
      .example = "baddbmm(ones([2]), ones([4, 3, 2]), ones([4, 2, 2]))",
      .reference = "beta * input + alpha * (batch1 @ batch2)",
      .dtypes = Numeric,
      .autocast = Autocast::Lower};
  static Tensor call(const Tensor& input, const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha);
};

struct Addbmm {
  static constexpr OpInfo info{
      .name = "addbmm",
      .doc =
          "beta * input + alpha * the sum of the products in bmm(batch1, batch2), where input broadcasts to the sum.",
      .parameters = "input, batch1, batch2, /, *, beta=1, alpha=1",
      .example = "addbmm(ones([2]), ones([4, 3, 2]), ones([4, 2, 2]))",
      .reference = "beta * input + alpha * (batch1 @ batch2).sum(0)",
      .dtypes = Numeric,
      .autocast = Autocast::Lower};
  static Tensor call(const Tensor& input, const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha);
};

}  // namespace lamella
