#pragma once

#include <optional>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"

namespace lamella {

struct NumericalGradient {
  static constexpr OpInfo info{
      .name = "gradient",
      .doc =
          "Derivatives of a function from its values x, one tensor for each of the axes (all of them for None): "
          "central "
          "differences inside, of second order where the places are evenly spaced, and one-sided ones of edge_order 1 "
          "or "
          "2 at the ends. `spacing` is the distance of neighbors or the places themselves, a tensor with one axis: one "
          "for all axes, or one for each. Neighbors are 1 apart for None. ValueError for an axis of less than "
          "edge_order + 1 elements.",
      .parameters = "x, /, *, spacing=None, axis=None, edge_order=1",
      .example = "gradient(asarray([1.0, 2.0, 4.0, 7.0]))",
      .dtypes = Floating | Complex};
  static std::vector<Tensor> call(const Tensor& x, const std::optional<std::vector<HeldOperand>>& spacing,
                                  const std::optional<Dims>& axis, std::int64_t edge_order);
};

}  // namespace lamella
