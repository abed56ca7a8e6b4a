#pragma once

#include <optional>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"

namespace lamella {

struct SearchSorted {
  static constexpr OpInfo info{
      .name = "searchsorted",
      .doc =
          "The positions (int64) at which x2's elements can be inserted into x1 so that it stays in ascending order, "
          "or in the order that `sorter` gives: before equal elements for side='left', behind them for 'right'. x1 has "
          "one axis, or it has x2's shape except for the last axis and is searched row by row. NaN is larger than all "
          "numbers.",
      .parameters = "x1, x2, /, *, side='left', sorter=None",
      .example = "searchsorted(asarray([1, 3, 5]), asarray([2, 3]))",
      .dtypes = Real | Boolean,
      .method = false};
  static Tensor call(const Tensor& x1, const Operand& x2, std::string_view side, const std::optional<Tensor>& sorter);
};

struct IsIn {
  static constexpr OpInfo info{
      .name = "isin",
      .doc =
          "True where an element of x1 is among those of x2; with `invert`, where it is not. NaN is equal to nothing.",
      .parameters = "x1, x2, /, *, invert=False",
      .example = "isin(arange(4), asarray([1, 3]))",
      .reference = "np.isin(x1, x2, invert=invert)",
      .dtypes = Real | Boolean,
      .method = false};
  static Tensor call(const Operand& x1, const Operand& x2, bool invert);
};

struct Bucketize {
  static constexpr OpInfo info{
      .name = "bucketize",
      .doc =
          "The number of the interval between `boundaries`, a vector in ascending order, that contains each element of "
          "x. Intervals are open to the left and closed to the right, or vice versa with `right`.",
      .parameters = "x, boundaries, /, *, right=False",
      .example = "bucketize(asarray([0.5, 2.0]), asarray([1.0, 2.0]))",
      .reference = "np.searchsorted(boundaries, x, 'right' if right else 'left')",
      .dtypes = Real | Boolean};
  static Tensor call(const Tensor& x, const Tensor& boundaries, bool right);
};

inline Tensor searchsorted(const Tensor& x1, const Operand& x2, std::string_view side = "left",
                           const std::optional<Tensor>& sorter = std::nullopt) {
  return SearchSorted::call(x1, x2, side, sorter);
}
inline Tensor isin(const Operand& x1, const Operand& x2, bool invert = false) { return IsIn::call(x1, x2, invert); }

}  // namespace lamella
