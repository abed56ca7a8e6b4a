#include "ops/sort/histogram_grid.h"

#include <cmath>

#include "engine/core/modes.h"
#include "ops/arrange/arrange.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/where.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/reshape.h"
#include "ops/sort/bins.h"
#include "ops/sort/histogram.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"

namespace lamella {
namespace {

using RangeList = std::optional<std::vector<double>>;

/// Returns the outer edges of one dimension.
std::optional<std::pair<double, double>> ends_of(const RangeList& range, std::size_t dimension) {
  if (!range) return std::nullopt;
  return std::pair((*range)[2 * dimension], (*range)[2 * dimension + 1]);
}

}  // namespace

Tensor Histc::call(const Tensor& x, std::int64_t bins, double min, double max) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  check_values_known(x, info.name);
  if (bins < 1) fail<ValueError>("[histc] bins must be at least 1, got ", bins);
  if (!(min <= max)) fail<ValueError>("[histc] min must not be above max, got ", min, " and ", max);
  const autograd::NoGrad no_grad;
  double low = min;
  double high = max;
  if (min == max && x.numel() > 0) {
    const auto value = [](const Tensor& y) { return *to_device(cast(y, DType::Float64), kCPU).data<double>(); };
    low = value(lamella::min(x));
    high = value(lamella::max(x));
  }
  if (!std::isfinite(low) || !std::isfinite(high))
    fail<ValueError>("[histc] the ends of the bins must be finite numbers, got ", low, " and ", high);
  if (low == high) {
    low -= 1;
    high += 1;
  }
  Tensor counts = cast(histogram(x, Operand(bins), std::pair(low, high))[0], x.dtype());
  note_constant(info.name, {&x}, counts);
  return counts;
}

std::vector<Tensor> HistogramDd::call(const Tensor& x, const std::vector<HeldOperand>& bins, const RangeList& range,
                                      const std::optional<Tensor>& weights, bool density) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  check_values_known(x, info.name);
  if (!x.device().is_cpu() && !counts_there(x.device())) {
    const auto host_weights = weights ? std::optional(moved(*weights, kCPU)) : std::nullopt;
    std::vector<HeldOperand> host_bins;
    for (const HeldOperand& each : bins) {
      const Operand one = each.operand();
      host_bins.push_back(one.is_number() ? each : HeldOperand(moved(one.tensor(), kCPU)));
    }
    const auto run_there = [&](const Tensor& host) { return call(host, host_bins, range, host_weights, density); };
    return on_host(info.name, x.device(), run_there, x);
  }
  if (x.ndim() < 2) fail<ValueError>("[histogramdd] x must have the shape [..., dimensions], got ", x.shape());
  const autograd::NoGrad no_grad;
  const std::int64_t dimensions = x.size(-1);
  const auto count = static_cast<std::size_t>(dimensions);
  if (dimensions == 0) fail<ValueError>("[histogramdd] x must have at least one dimension, got the shape ", x.shape());
  if (bins.size() > 1 && bins.size() != count)
    fail<ValueError>("[histogramdd] bins must be one, or one for each of ", count, " dimensions; got ", bins.size());
  if (range && range->size() != 2 * count)
    fail<ValueError>("[histogramdd] range must hold two ends for each of ", count, " dimensions, got ", range->size(),
                     " numbers");
  const std::int64_t n = x.numel() / dimensions;
  std::optional<Tensor> weight;
  if (weights) {
    check_defined(*weights, info.name);
    if (weights->shape() != Dims(DimsView(x.shape()).first(x.ndim() - 1)))
      fail<ValueError>("[histogramdd] weights must have x's shape without its last axis; x has ", x.shape(), ", got ",
                       weights->shape());
    weight = reshape(*weights, {n});
  }
  const Tensor points = cast(reshape(x, {n, dimensions}), DType::Float64);
  std::vector<Tensor> edges;
  std::vector<Tensor> numbers;
  Dims shape;
  std::int64_t cells = 1;
  for (std::size_t d = 0; d < count; ++d) {
    const Tensor values = contiguous(select(points, 1, static_cast<std::int64_t>(d)));
    const Operand given = bins.empty() ? Operand(10) : bins[bins.size() == 1 ? 0 : d].operand();
    edges.push_back(bin_edges(given, values, ends_of(range, d), info.name));
    shape.push_back(edges.back().numel() - 1);
    if (__builtin_mul_overflow(cells, shape.back(), &cells) || cells >= kMostCounts)
      fail<ValueError>("[histogramdd] the bins make more cells than memory holds: ", shape);
    numbers.push_back(bin_numbers(values, edges.back(), given.is_number(), -1));
  }
  for (Tensor& each : edges) each = to_device(each, x.device());
  // Points outside of all cells are counted behind the last one.
  Tensor cell = numbers[0];
  for (std::size_t d = 1; d < count; ++d)
    cell = where(less(minimum(cell, numbers[d]), 0), -1, add(multiply(cell, shape[d]), numbers[d]));
  cell = where(less(cell, 0), cells, cell);
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : kDefaultFloat;
  Tensor counts = cast(reshape(narrow(bincount(cell, weight, cells + 1), 0, 0, cells), shape), DType::Float64);
  if (density) {
    counts = divide(counts, sum(counts));
    for (std::size_t d = 0; d < count; ++d) {
      Dims along(count, 1);
      along[d] = shape[d];
      counts =
          divide(counts, reshape(subtract(narrow(edges[d], 0, 1, shape[d]), narrow(edges[d], 0, 0, shape[d])), along));
    }
  }
  std::vector<Tensor> results{cast(counts, dtype)};
  for (const Tensor& each : edges) results.push_back(cast(each, dtype));
  note_constant(info.name, {&x}, results[0]);
  return results;
}

}  // namespace lamella
