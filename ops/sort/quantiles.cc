#include "ops/sort/quantiles.h"

#include <cmath>
#include <vector>

#include "engine/core/modes.h"
#include "ops/arrange/arrange.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/logical.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/rounding.h"
#include "ops/elementwise/where.h"
#include "ops/index/take.h"
#include "ops/movement/cast.h"
#include "ops/movement/pick_along.h"
#include "ops/reduce/sum.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/sort/rows.h"
#include "ops/sort/sort.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// x with the axis of the statistic last, or flattened.
struct Sample {
  Tensor rows;
  /// Shape of the statistic of each row.
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
      fail<ValueError>("[", info.name, "] cannot reduce an axis of length 0; the shape is ", x.shape());
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

/// The wanted quantiles: shares q of a whole, which is 1 or, in percent, 100.
struct Asked {
  const OpInfo& info;
  const Operand& q;
  std::string_view interpolation;
  double whole = 1;

  /// Throws RuntimeError if q is on another device than x.
  void check_device(const Tensor& x) const {
    check_defined(x, info.name);
    if (!q.is_number()) check_same_device(x, q.tensor(), info.name);
  }
  /// Returns q, checked, as doubles.
  std::vector<double> shares() const {
    std::vector<double> values = given();
    for (double& share : values) {
      if (!(share >= 0 && share <= whole))
        fail<ValueError>("[", info.name, "] q must be between 0 and ", whole, ", got ", share);
      share /= whole;
    }
    return values;
  }
  /// True if q requires a gradient and is used as a tensor, because it weighs the neighbors; with other interpolations
  /// the result does not change with q.
  bool weighed() const { return !q.is_number() && interpolation == "linear" && is_followed(q.tensor()); }
  /// Returns the i-th share less its value: 0, with the derivatives of the share. Its value is known in double.
  Tensor change(std::size_t i, DType dtype) const {
    const Tensor one = select(reshape(cast(q.tensor(), dtype), {-1}), 0, static_cast<std::int64_t>(i));
    const Tensor share = whole == 1 ? one : divide(one, whole);
    return subtract(share, share.detach());
  }
  /// Returns the single result, or the results of all shares stacked along a new axis.
  Tensor joined(const std::vector<Tensor>& results, const Sample& sample) const {
    if (q.is_number() || q.tensor().ndim() == 0) return results[0];
    if (!results.empty()) return stack(results, 0);
    Dims shape{0};
    for (const std::int64_t size : sample.shape) shape.push_back(size);
    return empty(shape, sample.rows.dtype(), sample.rows.device());
  }
  void check_interpolation() const {
    for (const std::string_view known : {"linear", "lower", "higher", "midpoint", "nearest"}) {
      if (interpolation == known) return;
    }
    fail<ValueError>("[", info.name,
                     "] interpolation must be 'linear', 'lower', 'higher', 'nearest' or 'midpoint', got '",
                     interpolation, "'");
  }

 private:
  std::vector<double> given() const {
    if (q.is_number()) return {q.number().to<double>()};
    const Tensor& tensor = q.tensor();
    check_defined(tensor, info.name);
    if (tensor.ndim() > 1)
      fail<ValueError>("[", info.name, "] q must have at most one axis, got shape ", tensor.shape());
    if (is_batched(tensor)) tensor.refuse_batched(info.name);
    const autograd::NoGrad no_grad;
    const Tensor values = contiguous(to_device(cast(tensor, DType::Float64), kCPU));
    return {values.data<double>(), values.data<double>() + values.numel()};
  }
};

/// Returns the weight of the higher neighbor at `place`.
double weight_of(double place, std::string_view interpolation) {
  const double part = place - std::floor(place);
  if (interpolation == "linear") return part;
  if (interpolation == "higher") return part > 0 ? 1 : 0;
  if (interpolation == "midpoint") return part > 0 ? 0.5 : 0;
  if (interpolation == "nearest") return std::nearbyint(place) - std::floor(place);
  return 0;
}

/// Returns the weights of the higher neighbors at many places.
Tensor weights_of(const Tensor& place, const Tensor& lower, std::string_view interpolation) {
  Tensor part = subtract(place, lower);
  if (interpolation == "linear") return part;
  if (interpolation == "higher") return cast(greater(part, 0), DType::Float64);
  if (interpolation == "midpoint") return multiply(cast(greater(part, 0), DType::Float64), 0.5);
  if (interpolation == "nearest") return subtract(round(place), lower);
  return multiply(part, 0);
}

/// Returns the numbers between `low` and `high`, with the weight of `high`, which is a number or a tensor.
template <class Weight>
Tensor between(const Tensor& low, const Tensor& high, const Weight& weight) {
  const Tensor step = subtract(high, low);
  // From an infinite element, or over the whole range of numbers, a step leads nowhere.
  const Tensor weighted = add(multiply(low, subtract(Operand(1), weight)), multiply(high, weight));
  return where(isfinite(step), add(low, multiply(step, weight)), weighted);
}

Tensor quantile_of(const Asked& asked, const Tensor& x, std::optional<std::int64_t> axis, bool keepdims) {
  asked.check_device(x);
  const Sample sample(x, axis, keepdims, asked.info);
  asked.check_interpolation();
  const std::int64_t n = sample.rows.shape().back();
  const std::vector<double> shares = asked.shares();
  const bool weighed = asked.weighed();
  const Tensor ordered = sort(sample.rows);
  const auto last = static_cast<std::int64_t>(ordered.ndim()) - 1;
  const Tensor largest = narrow(ordered, last, n - 1, 1);
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double place = shares[i] * static_cast<double>(n - 1);
    const auto lower = static_cast<std::int64_t>(place);
    const double weight = weight_of(place, asked.interpolation);
    Tensor value = narrow(ordered, last, lower, 1);
    if (weight > 0) {
      const Tensor higher = narrow(ordered, last, lower + 1, 1);
      // A weight of 1 takes the neighbor itself: an infinite other one would make it NaN.
      if (weight == 1) {
        value = higher;
      } else if (weighed) {
        value = between(value, higher, add(multiply(asked.change(i, x.dtype()), n - 1), weight));
      } else {
        value = between(value, higher, weight);
      }
    }
    // NaN sorts last.
    results.push_back(reshape(where(isnan(largest), largest, value), sample.shape));
  }
  return asked.joined(results, sample);
}

Tensor nan_quantile_of(const Asked& asked, const Tensor& x, std::optional<std::int64_t> axis, bool keepdims) {
  asked.check_device(x);
  const Sample sample(x, axis, keepdims, asked.info);
  asked.check_interpolation();
  const Tensor ordered = sort(sample.rows);  // NaN sorts last
  // Position of the last number in each row, or -1 if it has none.
  const Tensor last = [&] {
    const autograd::NoGrad no_grad;
    return subtract(sum(cast(logical_not(isnan(sample.rows)), DType::Int64), -1, true), 1);
  }();
  const std::vector<double> shares = asked.shares();
  const bool weighed = asked.weighed();
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const Tensor place = multiply(maximum(cast(last, DType::Float64), 0), shares[i]);
    const Tensor lower = floor(place);
    const Tensor at = cast(lower, DType::Int64);
    const Tensor weight = cast(weights_of(place, lower, asked.interpolation), x.dtype());
    const Tensor share_of_next =
        weighed ? add(multiply(asked.change(i, x.dtype()), cast(last, x.dtype())), weight) : weight;
    const Tensor value = take_along_axis(ordered, at, -1);
    const Tensor higher = take_along_axis(ordered, maximum(minimum(add(at, 1), last), 0), -1);
    // Weights of 0 and 1 take the neighbor itself: an infinite other one would make it NaN.
    const Tensor picked = where(equal(weight, 1), higher, between(value, higher, share_of_next));
    results.push_back(reshape(weighed ? picked : where(equal(weight, 0), value, picked), sample.shape));
  }
  return asked.joined(results, sample);
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
  return quantile_of({info, q, interpolation}, x, axis, keepdims);
}

Tensor NanQuantile::call(const Tensor& x, const Operand& q, std::optional<std::int64_t> axis, bool keepdims,
                         std::string_view interpolation) {
  return nan_quantile_of({info, q, interpolation}, x, axis, keepdims);
}

Tensor Percentile::call(const Tensor& x, const Operand& q, std::optional<std::int64_t> axis, bool keepdims,
                        std::string_view interpolation) {
  return quantile_of({info, q, interpolation, 100}, x, axis, keepdims);
}

Tensor NanPercentile::call(const Tensor& x, const Operand& q, std::optional<std::int64_t> axis, bool keepdims,
                           std::string_view interpolation) {
  return nan_quantile_of({info, q, interpolation, 100}, x, axis, keepdims);
}

}  // namespace lamella
