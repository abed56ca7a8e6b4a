#include "ops/scan/gradient.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/cast.h"
#include "ops/scan/cumulative.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"

namespace lamella {
namespace {

/// The values along one axis.
struct Line {
  const Tensor& x;
  std::int64_t axis;
  std::int64_t n;

  /// Returns `count` values from `first` on; a negative `first` counts from the end.
  Tensor at(std::int64_t first, std::int64_t count = 1) const {
    return narrow(x, axis, first < 0 ? first + n : first, count);
  }
};

Tensor evenly_spaced(const Line& f, const Operand& h, bool second_order) {
  const Tensor inside = multiply(subtract(f.at(2, f.n - 2), f.at(0, f.n - 2)), 0.5);
  // The parabola through three equidistant points has the slope (-3 f0 + 4 f1 - f2) / 2h at the first of them.
  const auto edge = [&](std::int64_t first, std::int64_t next, std::int64_t third) {
    if (!second_order) return subtract(f.at(next), f.at(first));
    return subtract(subtract(multiply(f.at(next), 2), multiply(f.at(first), 1.5)), multiply(f.at(third), 0.5));
  };
  return divide(concat({edge(0, 1, 2), inside, negative(edge(-1, -2, -3))}, f.axis), h);
}

/// Returns slopes of the parabola through three neighbors (Fornberg, 1988, "Generation of finite difference formulas on
/// arbitrarily spaced grids", for first derivatives and three points).
Tensor at_places(const Line& f, const Tensor& places, bool second_order) {
  Dims shape(f.x.ndim(), 1);
  shape[static_cast<std::size_t>(f.axis)] = f.n - 1;
  const bool wide = is_wide_integer(places.dtype());
  const Tensor apart = diff(wide ? cast(places, DType::Float64) : as_inexact(places, "gradient"));
  const Tensor steps = reshape(wide ? cast(apart, real_dtype(f.x.dtype())) : apart, shape);
  const Line step{steps, f.axis, f.n - 1};
  const Tensor before = step.at(0, f.n - 2);
  const Tensor after = step.at(1, f.n - 2);
  const Tensor both = before + after;
  const Tensor inside = f.at(2, f.n - 2) * (before / (after * both)) +
                        f.at(1, f.n - 2) * ((after - before) / (before * after)) -
                        f.at(0, f.n - 2) * (after / (before * both));
  const auto edge = [&](std::int64_t first, std::int64_t next, std::int64_t third) {
    const Tensor near = step.at(first);
    if (!second_order) return (f.at(next) - f.at(first)) / near;
    const Tensor far = step.at(next);
    const Tensor sum = near + far;
    return f.at(next) * (sum / (near * far)) - f.at(first) * ((near + sum) / (near * sum)) -
           f.at(third) * (near / (far * sum));
  };
  return concat({edge(0, 1, 2), inside, negative(edge(-1, -2, -3))}, f.axis);
}

}  // namespace

std::vector<Tensor> NumericalGradient::call(const Tensor& given,
                                            const std::optional<std::vector<HeldOperand>>& given_spacing,
                                            const std::optional<Dims>& axis, std::int64_t edge_order) {
  check_defined(given, info.name);
  const bool half = is_half(given.dtype());
  if (half || is_wide_integer(given.dtype())) {
    const Tensor wide = cast(given, half ? DType::Float32 : DType::Float64);
    std::vector<Tensor> found = call(wide, given_spacing, axis, edge_order);
    for (Tensor& x : found) x = cast(x, half ? given.dtype() : kDefaultFloat);
    return found;
  }
  const std::vector<HeldOperand> spacing = given_spacing.value_or(std::vector<HeldOperand>{Scalar(1)});
  const Tensor x = as_inexact(given, info.name);
  if (edge_order != 1 && edge_order != 2) fail<ValueError>("[gradient] edge_order must be 1 or 2, got ", edge_order);
  static_cast<void>(normalize_axes(axis, x.ndim(), info.name));  // throws if an axis is repeated
  Dims axes;
  for (std::size_t i = 0; i < (axis ? axis->size() : x.ndim()); ++i)
    axes.push_back(normalize_axis(axis ? (*axis)[i] : static_cast<std::int64_t>(i), x.ndim(), info.name));
  if (spacing.size() != 1 && spacing.size() != axes.size()) {
    fail<ValueError>("[gradient] spacing must be one number, or one for each of ", axes.size(), " axes; got ",
                     spacing.size());
  }
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Line line{x, axes[i], x.size(axes[i])};
    if (line.n <= edge_order) {
      fail<ValueError>("[gradient] edge_order ", edge_order, " needs at least ", edge_order + 1,
                       " elements along an axis, got the shape ", x.shape());
    }
    const Operand h = spacing[spacing.size() == 1 ? 0 : i].operand();
    if (h.is_number() || h.tensor().ndim() == 0) {
      results.push_back(evenly_spaced(line, h, edge_order == 2));
      continue;
    }
    if (h.tensor().ndim() != 1 || h.tensor().numel() != line.n) {
      fail<ValueError>("[gradient] the places along axis ", axes[i], " must be a tensor of ", line.n,
                       " elements, got the shape ", h.tensor().shape());
    }
    results.push_back(at_places(line, h.tensor(), edge_order == 2));
  }
  return results;
}

}  // namespace lamella
