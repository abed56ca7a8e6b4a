#pragma once

#include <optional>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"

namespace lamella {

struct BinCount {
  static constexpr OpInfo info{
      .name = "bincount",
      .doc =
          "The number of occurrences in x, which has one axis and no negative elements, of each integer from 0 to the "
          "largest element: at least `minlength` counts. With weights, of x's shape, the sums of weights instead: in "
          "float32 for float32, in float64 otherwise. No gradient.",
      .parameters = "x, /, weights=None, minlength=0",
      .example = "bincount(asarray([0, 2, 2]))",
      .reference = "np.bincount(x, weights, minlength)",
      .dtypes = Integral};
  static Tensor call(const Tensor& x, const std::optional<Tensor>& weights, std::int64_t minlength);
};

struct Histogram {
  static constexpr OpInfo info{
      .name = "histogram",
      .doc =
          "How many elements of x, flattened, lie in each bin: (hist, bin_edges). `bins` is how many there are, all of "
          "the same width between the ends of `range` (of x, if none is given, or if its ends agree), or a tensor of "
          "their edges in ascending order. A bin holds its left edge, the last one its right edge too; what lies "
          "outside "
          "and NaN do not count. With weights, of x's shape, the sum of those; with density, divided by the sum of all "
          "and the widths. In x's dtype, float32 for integers. No gradient.",
      .parameters = "x, /, bins=10, *, range=None, weights=None, density=False",
      .example = "histogram(asarray([1.0, 2.0, 1.0]), 4, range=(0.0, 3.0))",
      .dtypes = Real};
  static constexpr const char* kFields[] = {"hist", "bin_edges"};
  static std::vector<Tensor> call(const Tensor& x, const Operand& bins,
                                  const std::optional<std::pair<double, double>>& range,
                                  const std::optional<Tensor>& weights, bool density);
};

inline Tensor bincount(const Tensor& x, const std::optional<Tensor>& weights = std::nullopt,
                       std::int64_t minlength = 0) {
  return BinCount::call(x, weights, minlength);
}
inline std::vector<Tensor> histogram(const Tensor& x, const Operand& bins = 10,
                                     const std::optional<std::pair<double, double>>& range = std::nullopt,
                                     const std::optional<Tensor>& weights = std::nullopt, bool density = false) {
  return Histogram::call(x, bins, range, weights, density);
}

}  // namespace lamella
