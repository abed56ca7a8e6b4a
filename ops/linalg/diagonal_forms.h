#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Tensors with given diagonals, and the indices of triangles.

namespace lamella {

struct Diag {
  static constexpr OpInfo info{
      .name = "diag",
      .doc =
          "For a vector, the matrix with it on the k-th diagonal and 0 elsewhere; for a matrix, its k-th diagonal: "
          "above the main one for k > 0, below it for k < 0. ValueError for other tensors.",
      .parameters = "x, /, *, k=0",
      .example = "diag(arange(3))",
      .reference = "np.diag(x, k)"};
  static Tensor call(const Tensor& x, std::int64_t k);
};

struct DiagEmbed {
  static constexpr OpInfo info{.name = "diag_embed",
                               .doc =
                                   "Zero matrices, in axis1 and axis2 of the result, with the rows of x, along its "
                                   "last axis, on a diagonal: the inverse of diagonal().",
                               .parameters = "x, /, *, offset=0, axis1=-2, axis2=-1",
                               .example = "diag_embed(ones([2, 3]))"};
  static Tensor call(const Tensor& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2);
};

struct DiagFlat {
  static constexpr OpInfo info{.name = "diagflat",
                               .doc = "The matrix with all elements of x, in their order, on the k-th diagonal.",
                               .parameters = "x, /, *, k=0",
                               .example = "diagflat(ones([2, 2]))",
                               .reference = "np.diagflat(x, k)"};
  static Tensor call(const Tensor& x, std::int64_t k);
};

struct DiagonalScatter {
  static constexpr OpInfo info{.name = "diagonal_scatter",
                               .doc = "A copy of x with `src` in the place of diagonal(x, ..), of that shape.",
                               .parameters = "x, src, /, *, offset=0, axis1=-2, axis2=-1",
                               .example = "diagonal_scatter(zeros([3, 3]), ones([3]))"};
  static Tensor call(const Tensor& x, const Tensor& src, std::int64_t offset, std::int64_t axis1, std::int64_t axis2);
};

struct TrilIndices {
  static constexpr OpInfo info{
      .name = "tril_indices",
      .doc =
          "The rows and the columns (int64, shape [2, n]) of the elements on and below the k-th diagonal of a matrix, "
          "row by row.",
      .parameters = "n_rows, n_cols, /, *, k=0, device=None",
      .example = "tril_indices(3, 3)"};
  static Tensor call(std::int64_t n_rows, std::int64_t n_cols, std::int64_t k, std::optional<Device> device);
};

struct TriuIndices {
  static constexpr OpInfo info{
      .name = "triu_indices",
      .doc =
          "The rows and the columns (int64, shape [2, n]) of the elements on and above the k-th diagonal of a matrix, "
          "row by row.",
      .parameters = "n_rows, n_cols, /, *, k=0, device=None",
      .example = "triu_indices(3, 3)"};
  static Tensor call(std::int64_t n_rows, std::int64_t n_cols, std::int64_t k, std::optional<Device> device);
};

}  // namespace lamella
