#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

namespace lamella {

struct Cov {
  static constexpr OpInfo info{
      .name = "cov",
      .doc =
          "The covariances of the rows of a matrix, one for each variable, with a column for each observation; a "
          "vector is one row. `fweights` says how often each observation was made, `aweights` how much it counts; the "
          "sums are divided by the number less `correction`. Of one variable the result is a 0-d tensor.",
      .parameters = "x, /, *, correction=1, fweights=None, aweights=None",
      .example = "cov(asarray([[1.0, 2.0, 4.0], [2.0, 1.0, 0.0]]))",
      .reference = "np.cov(x, ddof=correction, fweights=fweights, aweights=aweights)",
      .dtypes = Floating | Complex};
  /// Throws ValueError for more than two axes, or for weights that are negative or of another length.
  static Tensor call(const Tensor& x, std::int64_t correction, const std::optional<Tensor>& fweights,
                     const std::optional<Tensor>& aweights);
};

struct CorrCoef {
  static constexpr OpInfo info{
      .name = "corrcoef",
      .doc =
          "The correlations of the rows of a matrix: cov(x) divided by the standard deviations of both rows, limited "
          "to [-1, 1].",
      .example = "corrcoef(asarray([[1.0, 2.0, 4.0], [2.0, 1.0, 0.0]]))",
      .reference = "np.corrcoef(x)",
      .dtypes = Floating | Complex};
  static Tensor call(const Tensor& x);
};

}  // namespace lamella
