#pragma once

#include <optional>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"

namespace lamella {

struct Histc {
  static constexpr OpInfo info{.name = "histc",
                               .doc =
                                   "How many elements of x, flattened, lie in each of `bins` bins of one width between "
                                   "min and max, in x's dtype. "
                                   "Where min and max agree, x's own are meant. A bin holds its left edge, the last "
                                   "one its right edge too; what "
                                   "lies outside and NaN do not count. `histogram` gives the edges too. No gradient.",
                               .parameters = "x, /, bins=100, min=0.0, max=0.0",
                               .example = "histc(asarray([1.0, 2.0, 1.0]), 4, 0.0, 3.0)",
                               .dtypes = Real};
  static Tensor call(const Tensor& x, std::int64_t bins, double min, double max);
};

struct HistogramDd {
  static constexpr OpInfo info{
      .name = "histogramdd",
      .doc =
          "How many of the points x, [..., dimensions], lie in each cell of a grid: the counts, with an axis for each "
          "dimension, and behind them the edges of the bins of each dimension. `bins` says how many there are, all of "
          "one width, or is a tensor of their edges in ascending order: one for all dimensions, or one for each; 10 "
          "where it "
          "is empty. "
          "`range` holds the ends (low, high) of each dimension, one after the other, for bins of one width (x's own "
          "ends if it is not given, or where they agree). A bin holds its left edge, the last one its right edge too; "
          "points outside and with NaN do not count. With weights, of x's shape without its last axis, the sums of "
          "those; with density, divided by the sum of all and the cells' sizes. No gradient.",
      .parameters = "x, /, bins=(), *, range=None, weights=None, density=False",
      .example = "histogramdd(asarray([[0.5, 1.0], [1.0, 2.0]]), bins=2)",
      .dtypes = Real,
      .method = false};
  static std::vector<Tensor> call(const Tensor& x, const std::vector<HeldOperand>& bins,
                                  const std::optional<std::vector<double>>& range, const std::optional<Tensor>& weights,
                                  bool density);
};

}  // namespace lamella
