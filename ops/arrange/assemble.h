#pragma once

#include <optional>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/shape/cuts.h"

// Operators that join, split and rotate tensors: numpy's short names for uses of concat(), tensor_split() and flip().
// They return views if possible.

namespace lamella {

struct DStack {
  static constexpr OpInfo info{.name = "dstack",
                               .doc = "The tensors joined along the third axis, after atleast_3d() of each.",
                               .parameters = "arrays, /",
                               .example = "dstack([ones([2]), zeros([2])])",
                               .reference = "np.dstack(arrays)",
                               .method = false};
  /// Throws ValueError if there are no tensors, or if sizes of other axes differ.
  static Tensor call(const std::vector<Tensor>& arrays);
};

struct ColumnStack {
  static constexpr OpInfo info{
      .name = "column_stack",
      .doc = "The tensors side by side, along the second axis; those with fewer than two axes become columns first.",
      .parameters = "arrays, /",
      .example = "column_stack([ones([2]), zeros([2, 3])])",
      .reference = "np.column_stack(arrays)",
      .method = false};
  static Tensor call(const std::vector<Tensor>& arrays);
};

struct HSplit {
  static constexpr OpInfo info{.name = "hsplit",
                               .doc =
                                   "tensor_split() along the second axis, or the only one: into so many parts, or at "
                                   "the given places. ValueError where a number of parts does not divide the size.",
                               .parameters = "x, indices_or_sections",
                               .example = "hsplit(arange(6), 2)"};
  static std::vector<Tensor> call(const Tensor& x, const Cuts& indices_or_sections);
};

struct VSplit {
  static constexpr OpInfo info{
      .name = "vsplit",
      .doc =
          "tensor_split() along the first axis of a tensor with two axes or more. ValueError where a number of parts "
          "does not divide the size.",
      .parameters = "x, indices_or_sections",
      .example = "vsplit(ones([4, 2]), 2)"};
  static std::vector<Tensor> call(const Tensor& x, const Cuts& indices_or_sections);
};

struct DSplit {
  static constexpr OpInfo info{
      .name = "dsplit",
      .doc =
          "tensor_split() along the third axis of a tensor with three axes or more. ValueError where a number of parts "
          "does not divide the size.",
      .parameters = "x, indices_or_sections",
      .example = "dsplit(ones([1, 2, 4]), 2)"};
  static std::vector<Tensor> call(const Tensor& x, const Cuts& indices_or_sections);
};

struct FlipLr {
  static constexpr OpInfo info{.name = "fliplr",
                               .doc = "x reversed along its second axis; ValueError for fewer than two axes.",
                               .example = "fliplr(ones([2, 3]))",
                               .reference = "np.fliplr(x)"};
  static Tensor call(const Tensor& x);
};

struct FlipUd {
  static constexpr OpInfo info{.name = "flipud",
                               .doc = "x reversed along its first axis; ValueError for a 0-d tensor.",
                               .example = "flipud(ones([2, 3]))",
                               .reference = "np.flipud(x)"};
  static Tensor call(const Tensor& x);
};

struct Rot90 {
  static constexpr OpInfo info{.name = "rot90",
                               .doc =
                                   "x rotated by k quarter turns in the plane of two axes, from the first towards the "
                                   "second; None stands for (0, 1).",
                               .parameters = "x, /, k=1, axes=None",
                               .example = "rot90(ones([2, 3]), 3)",
                               .reference = "np.rot90(x, k, (0, 1) if axes is None else axes)"};
  static Tensor call(const Tensor& x, std::int64_t k, const std::optional<Dims>& axes);
};

struct Ravel {
  static constexpr OpInfo info{.name = "ravel",
                               .doc = "x with all its elements along one axis: a view where it can be.",
                               .example = "ravel(ones([2, 3]))",
                               .reference = "np.ravel(x)"};
  static Tensor call(const Tensor& x);
};

struct Unflatten {
  static constexpr OpInfo info{
      .name = "unflatten",
      .doc = "x with one axis split into several of the given sizes, one of which may be -1: the inverse of flatten().",
      .parameters = "x, axis, sizes",
      .example = "unflatten(ones([2, 6]), 1, [3, -1])"};
  /// Throws ValueError if the product of the sizes is not the axis' size.
  static Tensor call(const Tensor& x, std::int64_t axis, const Dims& sizes);
};

struct BlockDiag {
  static constexpr OpInfo info{
      .name = "block_diag",
      .doc =
          "A matrix with the given ones along its diagonal, and 0 elsewhere. Tensors with fewer than two axes count as "
          "rows.",
      .parameters = "*arrays",
      .example = "block_diag(ones([2, 3]), ones([1, 2]))",
      .method = false};
  /// Throws ValueError if a tensor has more than two axes.
  static Tensor call(const std::vector<Tensor>& arrays);
};

struct CartesianProd {
  static constexpr OpInfo info{
      .name = "cartesian_prod",
      .doc =
          "All ways to pick one element of each vector: a row for each way, a column for each vector. One alone is "
          "returned as it is.",
      .parameters = "*arrays",
      .example = "cartesian_prod(arange(2), arange(3))",
      .method = false};
  static Tensor call(const std::vector<Tensor>& arrays);
};

struct Combinations {
  static constexpr OpInfo info{
      .name = "combinations",
      .doc =
          "The ways to pick r elements of a vector, in the order in which itertools.combinations has them: a row for "
          "each way. An element may be picked again with with_replacement.",
      .parameters = "x, /, r=2, with_replacement=False",
      .example = "combinations(arange(4))"};
  /// Throws ValueError if r is negative or x is not a vector.
  static Tensor call(const Tensor& x, std::int64_t r, bool with_replacement);
};

inline Tensor unflatten(const Tensor& x, std::int64_t axis, const Dims& sizes) {
  return Unflatten::call(x, axis, sizes);
}

}  // namespace lamella
