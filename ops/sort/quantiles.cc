#include "ops/sort/quantiles.h"

#include <cmath>
#include <limits>
#include <vector>

#include "engine/autograd/modes.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/list.h"
#include "ops/index/take.h"
#include "ops/movement/cast.h"
#include "ops/shape/arrange.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/sort/pick.h"
#include "ops/sort/rows.h"
#include "ops/sort/sort.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// x with the axis last, or flat: what a statistic is taken of.
struct Sample {
  Tensor rows;
  /// The shape of a statistic of each row.
  Dims shape;

  Sample(const Tensor& x, std::optional<std::int64_t> axis, bool keepdims, const OpInfo& info) {
    check_defined(x, info.name);
    check_dtype(x, info.dtypes, info.name);
    if (!axis || x.ndim() == 0) {
      if (axis) normalize_axis_or_scalar(x, *axis, info.name);
      rows = reshape(x, Dims{-1});
      if (keepdims) shape = Dims(x.ndim(), 1);
    } else {
      const auto at = static_cast<std::size_t>(normalize_axis(*axis, x.ndim(), info.name));
      Dims order;
      for (std::size_t i = 0; i < x.ndim(); ++i) {
        if (i != at) order.push_back(static_cast<std::int64_t>(i));
        if (i != at || keepdims) shape.push_back(i == at ? 1 : x.shape()[i]);
      }
      order.push_back(static_cast<std::int64_t>(at));
      rows = permute_dims(x, order);
    }
    if (rows.shape().back() == 0) {
      fail<ValueError>("[", info.name, "] there is nothing to take it of along the axis; the shape is ", x.shape());
    }
  }
};

Tensor middle(const OpInfo& info, cpu::Rank rank, const Tensor& x, std::optional<std::int64_t> axis, bool keepdims) {
  const Sample sample(x, axis, keepdims, info);
  const Tensor positions = [&] {
    const autograd::NoGrad no_grad;
    return nth_positions(sample.rows, rank, 0, info.name);
  }();
  const auto last = static_cast<std::int64_t>(sample.rows.ndim()) - 1;
  return reshape(pick_along(sample.rows, positions, last, info.name), sample.shape);
}

/// The shares of q, checked, as doubles.
std::vector<double> shares_of(const Operand& q) {
  if (q.is_number()) return {q.number().to<double>()};
  const Tensor& given = q.tensor();
  if (given.ndim() > 1) fail<ValueError>("[quantile] q has at most one axis, got shape ", given.shape());
  if (is_batched(given)) given.refuse_batched("quantile");
  const autograd::NoGrad no_grad;
  const Tensor values = contiguous(to_device(cast(given, DType::Float64), kCPU));
  return {values.data<double>(), values.data<double>() + values.numel()};
}

/// How much of the higher neighbor there is at `place`.
double weight_of(double place, std::string_view interpolation) {
  const double part = place - std::floor(place);
  if (interpolation == "linear") return part;
  if (interpolation == "lower") return 0;
  if (interpolation == "higher") return part > 0 ? 1 : 0;
  if (interpolation == "midpoint") return part > 0 ? 0.5 : 0;
  if (interpolation == "nearest") return std::nearbyint(place) - std::floor(place);
  fail<ValueError>("[quantile] interpolation is 'linear', 'lower', 'higher', 'nearest' or 'midpoint', got '",
                   interpolation, "'");
}

}  // namespace

Tensor Median::call(const Tensor& x, std::optional<std::int64_t> axis, bool keepdims) {
  return middle(info, cpu::Rank::Median, x, axis, keepdims);
}

Tensor NanMedian::call(const Tensor& x, std::optional<std::int64_t> axis, bool keepdims) {
  return middle(info, cpu::Rank::NanMedian, x, axis, keepdims);
}

Tensor Quantile::call(const Tensor& x, const Operand& q, std::optional<std::int64_t> axis, bool keepdims,
                      std::string_view interpolation) {
  const Sample sample(x, axis, keepdims, info);
  const std::int64_t n = sample.rows.shape().back();
  std::vector<std::int64_t> lower;
  std::vector<double> weights;
  for (const double share : shares_of(q)) {
    if (!(share >= 0 && share <= 1)) fail<ValueError>("[quantile] q is between 0 and 1, got ", share);
    const double place = share * static_cast<double>(n - 1);
    lower.push_back(static_cast<std::int64_t>(place));
    weights.push_back(weight_of(place, interpolation));
  }
  // A share that wants a gradient counts as a tensor where it weighs the neighbors; elsewhere the result does not move
  // with it.
  const bool weighed = !q.is_number() && interpolation == "linear" && is_followed(q.tensor());
  const auto weight_tensor = [&](std::size_t i) {
    const Tensor share = select(reshape(cast(q.tensor(), x.dtype()), {-1}), 0, static_cast<std::int64_t>(i));
    return subtract(multiply(share, n - 1), lower[i]);
  };
  const Tensor ordered = sort(sample.rows);
  const auto last = static_cast<std::int64_t>(ordered.ndim()) - 1;
  const Tensor largest = narrow(ordered, last, n - 1, 1);
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    Tensor value = narrow(ordered, last, lower[i], 1);
    if (weights[i] > 0) {
      const Tensor higher = narrow(ordered, last, lower[i] + 1, 1);
      // A whole neighbor as it is: infinite elements have no difference.
      const Tensor step = subtract(higher, value);
      value = weights[i] == 1 ? higher
                              : add(value, weighed ? multiply(step, weight_tensor(i)) : multiply(step, weights[i]));
    }
    // NaN stands last.
    results.push_back(reshape(where(isnan(largest), largest, value), sample.shape));
  }
  if (q.is_number() || q.tensor().ndim() == 0) return results[0];
  if (results.empty()) {
    Dims shape{0};
    for (const std::int64_t size : sample.shape) shape.push_back(size);
    return empty(shape, x.dtype(), x.device());
  }
  return stack(results, 0);
}

}  // namespace lamella
