#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/where.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/random/distributions.h"
#include "ops/random/draw.h"
#include "ops/reduce/extremum.h"
#include "ops/scan/cumulative.h"
#include "ops/shape/join.h"
#include "ops/sort/rows.h"
#include "ops/sort/search.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

using random::Fill;

/// Returns the error of one row of weights, or null if it is valid.
const char* problem_of(const double* weights, std::int64_t count, std::int64_t wanted) {
  double total = 0;
  std::int64_t positive = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!(weights[i] >= 0) || !std::isfinite(weights[i])) return "weights must be finite and not below 0";
    total += weights[i];
    positive += weights[i] > 0;
  }
  if (positive == 0 || !std::isfinite(total)) return "the weights of a row must have a finite sum above 0";
  if (positive < wanted)
    return "without replacement, a row needs as many weights above 0 as samples are wanted; pass replacement=True";
  return nullptr;
}

/// Finds, for each u, the first position at which the running sum exceeds u times the total.
void pick_with_replacement(const double* weights, std::int64_t count, const double* units, std::int64_t samples,
                           std::int64_t* out) {
  std::vector<double> sums(static_cast<std::size_t>(count));
  double total = 0;
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    total += weights[i];
    sums[static_cast<std::size_t>(i)] = total;
    if (weights[i] > 0) last = i;
  }
  for (std::int64_t k = 0; k < samples; ++k) {
    const auto found = std::upper_bound(sums.begin(), sums.end(), units[k] * total) - sums.begin();
    out[k] = std::min<std::int64_t>(found, last);
  }
}

/// Picks the positions of the smallest exponential numbers divided by the weights: the first arrivals in a race.
void pick_without_replacement(const double* weights, std::int64_t count, const double* times, std::int64_t samples,
                              std::int64_t* out) {
  std::vector<std::pair<double, std::int64_t>> arrivals;
  arrivals.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    if (weights[i] > 0) arrivals.emplace_back(times[i] / weights[i], i);
  }
  std::partial_sort(arrivals.begin(), arrivals.begin() + samples, arrivals.end());
  for (std::int64_t k = 0; k < samples; ++k) out[k] = arrivals[static_cast<std::size_t>(k)].second;
}

/// Picks like pick_with_replacement() on a device, where weights are not checked: that would wait for it.
Tensor with_replacement_there(const Tensor& weights, const Tensor& units) {
  const Tensor sums = cumulative_sum(weights, -1);
  const Tensor found = searchsorted(sums, multiply(units, narrow(sums, -1, sums.shape().back() - 1, 1)), "right");
  const Tensor positions = arange(0, weights.shape().back(), 1, DType::Int64, weights.device());
  return minimum(found, max(where(greater(weights, 0), positions, 0), Dims{-1}, true));
}

/// Picks like pick_without_replacement() on a device.
Tensor without_replacement_there(const Tensor& weights, const Tensor& times, std::int64_t samples) {
  const Tensor arrivals = where(greater(weights, 0), divide(times, weights), std::numeric_limits<double>::infinity());
  return top_positions(arrivals, samples, /*largest=*/false, /*sorted=*/true, Multinomial::info.name);
}

}  // namespace

Tensor Multinomial::call(const Tensor& x, std::int64_t num_samples, bool replacement, Generator* generator) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  if (x.ndim() != 1 && x.ndim() != 2)
    fail<ValueError>("[multinomial] x must have one or two axes, got the shape ", x.shape());
  if (num_samples <= 0) fail<ValueError>("[multinomial] num_samples must be above 0, got ", num_samples);
  const std::int64_t count = x.shape().back();
  if (!replacement && num_samples > count) {
    fail<ValueError>("[multinomial] cannot draw ", num_samples, " of ", count,
                     " positions without replacement; pass replacement=True");
  }
  const bool has_kernels = has_device_kernel<&DeviceKernels::search_sorted>(x.device());
  if (!x.device().is_cpu() && !x.device().is_meta() && !has_kernels) require_fallback(info.name, x.device());
  const autograd::NoGrad no_grad;
  Dims drawn = x.shape();
  if (replacement) drawn.back() = num_samples;
  const Fill fill{.kind = replacement ? Fill::Kind::Uniform : Fill::Kind::Exponential, .top = std::nextafter(1.0, 0.0)};
  const Tensor numbers = draw(info.name, fill, drawn, DType::Float64, x.device(), generator);

  const HiddenAxes axes = hidden_axes(pointers(x, numbers));
  const auto whole = [&](const Tensor& y) { return contiguous(physical(y, axes, 0, MissingAxis::Repeated)); };
  // The device draws the numbers; for an extension's device the host does the selection.
  const Device device = is_extension(x.device()) ? kCPU : x.device();
  const auto there = [&](const Tensor& y) { return is_extension(y.device()) ? moved(y, kCPU) : y; };
  const Tensor weights = there(whole(cast(x, DType::Float64)));
  const Tensor given = there(whole(numbers));
  if (has_kernels) {
    return hide_in_place(
        replacement ? with_replacement_there(weights, given) : without_replacement_there(weights, given, num_samples),
        axes);
  }
  Dims shape = weights.shape();
  shape.back() = num_samples;
  Tensor out = empty(shape, DType::Int64, device);
  if (!out.device().is_meta() && out.numel() > 0) {
    const auto* const w = weights.data<double>();
    const std::int64_t rows = out.numel() / num_samples;
    for (std::int64_t row = 0; row < rows; ++row) {
      if (const char* problem = problem_of(w + row * count, count, replacement ? 0 : num_samples))
        fail<ValueError>("[multinomial] ", problem);
    }
    const std::int64_t width = given.shape().back();
    const HostRelease release(rows * (count + num_samples) * 8);
    parallel_for(0, rows, std::max<std::int64_t>(1, 4096 / (count + num_samples)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) {
                     const auto pick = replacement ? pick_with_replacement : pick_without_replacement;
                     pick(w + row * count, count, given.data<double>() + row * width, num_samples,
                          out.data<std::int64_t>() + row * num_samples);
                   }
                 });
  }
  return hide_in_place(is_extension(x.device()) ? moved(out, x.device()) : out, axes);
}

}  // namespace lamella
