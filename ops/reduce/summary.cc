#include "ops/reduce/summary.h"

#include <algorithm>

#include "engine/core/modes.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/sqrt.h"
#include "ops/linalg/adjoint.h"
#include "ops/linalg/diagonal.h"
#include "ops/linalg/matmul.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/reduce/variance.h"
#include "ops/scan/cumulative.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/sort/search.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// Returns x cast to a floating dtype if it holds integers; complex tensors unchanged.
Tensor as_numbers(const Tensor& x, const char* op) {
  check_defined(x, op);
  return is_complex(x.dtype()) ? x : as_floating(x, op);
}

/// Returns twice the areas of the trapezoids between neighbors along the axis, with a spacing of 1 if there is no x.
Tensor double_areas(const OpInfo& info, const Tensor& given, const std::optional<Tensor>& x, std::int64_t axis,
                    std::int64_t& from_end) {
  const Tensor y = as_numbers(given, info.name);
  if (y.ndim() == 0) fail<ValueError>("[", info.name, "] a 0-d tensor has no neighbors; it needs at least one axis");
  from_end = normalize_axis(axis, y.ndim(), info.name) - static_cast<std::int64_t>(y.ndim());
  const auto later = [](const Tensor& t, std::int64_t a) {
    return narrow(t, a, std::min<std::int64_t>(1, t.size(a)), std::max<std::int64_t>(0, t.size(a) - 1));
  };
  const auto earlier = [](const Tensor& t, std::int64_t a) {
    return narrow(t, a, 0, std::max<std::int64_t>(0, t.size(a) - 1));
  };
  Tensor sums = add(earlier(y, from_end), later(y, from_end));
  if (!x) return sums;
  const Tensor places = as_numbers(*x, info.name);
  if (places.ndim() == 0) fail<ValueError>("[", info.name, "] x needs an axis, got a 0-d tensor");
  Tensor steps;
  if (places.ndim() == 1) {
    steps = subtract(later(places, 0), earlier(places, 0));
    Dims shape(static_cast<std::size_t>(-from_end), 1);
    shape[0] = steps.numel();
    steps = reshape(steps, shape);
  } else {
    normalize_axis(from_end, places.ndim(), info.name);
    steps = subtract(later(places, from_end), earlier(places, from_end));
  }
  if (places.size(places.ndim() == 1 ? 0 : from_end) != y.size(from_end))
    fail<ValueError>("[", info.name, "] x and y must have the same length along the axis, got the shapes ",
                     places.shape(), " and ", y.shape());
  return multiply(sums, steps);
}

/// Checks `weights` and returns it as an operand of the rows' dtype.
Tensor checked_weights(const Tensor& weights, std::int64_t observations, const char* argument) {
  check_defined(weights, "cov");
  if (weights.ndim() != 1 || weights.numel() != observations) {
    fail<ValueError>("[cov] ", argument, " must have one number for each of the ", observations,
                     " observations, got shape ", weights.shape());
  }
  const autograd::NoGrad no_grad;
  const Tensor whole = is_batched(weights) ? physical(weights, *weights->hidden) : weights;
  if (!whole.device().is_meta() && *to_device(any(less(whole, 0)), kCPU).data<bool>())
    fail<ValueError>("[cov] ", argument, " must not be negative");
  return weights;
}

}  // namespace

std::vector<Tensor> VarMean::call(const Tensor& x, const std::optional<Dims>& axis, double correction, bool keepdims) {
  const Tensor values = as_numbers(x, info.name);
  return {var(values, axis, correction, keepdims), mean(values, axis, keepdims)};
}

std::vector<Tensor> StdMean::call(const Tensor& x, const std::optional<Dims>& axis, double correction, bool keepdims) {
  const Tensor values = as_numbers(x, info.name);
  return {Std::call(values, axis, correction, keepdims), mean(values, axis, keepdims)};
}

std::vector<Tensor> AMinMax::call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims) {
  return {min(x, axis, keepdims), max(x, axis, keepdims)};
}

Tensor Trapezoid::call(const Tensor& y, const std::optional<Tensor>& x, double dx, std::int64_t axis) {
  std::int64_t from_end = 0;
  const double scale = x ? 0.5 : dx / 2;
  if (!x && y.ndim() > 0 && y.numel() > 0) {
    // All points except the two ends count twice.
    const Tensor values = as_numbers(y, info.name);
    from_end = normalize_axis(axis, y.ndim(), info.name) - static_cast<std::int64_t>(y.ndim());
    const std::int64_t n = values.size(from_end);
    if (n >= 2) {
      // 16-bit floats are computed in float32 and rounded once.
      const DType wide =
          values.dtype() == DType::Float16 || values.dtype() == DType::BFloat16 ? DType::Float32 : values.dtype();
      const auto end = [&](std::int64_t i) { return squeeze(narrow(values, from_end, i, 1), from_end); };
      const Tensor ends = add(cast(end(0), wide), cast(end(n - 1), wide));
      const Tensor middle = sum(narrow(values, from_end, 1, n - 2), Dims{from_end}, false, wide);
      return cast(multiply(add(multiply(middle, 2), ends), scale), values.dtype());
    }
  }
  const Tensor areas = double_areas(info, y, x, axis, from_end);
  return multiply(sum(areas, Dims{from_end}), scale);
}

Tensor CumulativeTrapezoid::call(const Tensor& y, const std::optional<Tensor>& x, double dx, std::int64_t axis) {
  std::int64_t from_end = 0;
  const Tensor parts = double_areas(info, y, x, axis, from_end);
  return CumSum::call(multiply(parts, x ? 0.5 : dx / 2), from_end, std::nullopt);
}

Tensor Cov::call(const Tensor& given, std::int64_t correction, const std::optional<Tensor>& fweights,
                 const std::optional<Tensor>& aweights) {
  check_defined(given, info.name);
  if (given.ndim() > 2) fail<ValueError>("[cov] takes a matrix of variables, got shape ", given.shape());
  Tensor x = reshape(as_numbers(given, info.name), given.ndim() == 2 ? given.shape() : Dims{1, given.numel()});
  if (aweights && is_floating(aweights->dtype())) x = cast(x, promote_types(x.dtype(), aweights->dtype()));
  const std::int64_t observations = x.size(1);
  if (observations == 0) fail<ValueError>("[cov] there are no observations; the shape is ", given.shape());
  const DType real_numbers = real_dtype(x.dtype());
  std::optional<Tensor> weights;
  if (fweights) {
    if (is_floating(fweights->dtype()) || is_complex(fweights->dtype()))
      fail<TypeError>("[cov] fweights must be integers, got dtype ", fweights->dtype());
    weights = cast(checked_weights(*fweights, observations, "fweights"), real_numbers);
  }
  if (aweights) {
    const Tensor counted =
        cast(checked_weights(as_floating(*aweights, info.name), observations, "aweights"), real_numbers);
    weights = weights ? multiply(*weights, counted) : counted;
  }
  if (!weights) {
    const Tensor centered = subtract(x, mean(x, Dims{1}, true));
    const Tensor products = matmul(centered, linalg::adjoint(centered));
    const double divisor = std::max<double>(0, static_cast<double>(observations - correction));
    return reshape(divide(products, divisor), products.numel() == 1 ? Dims{} : products.shape());
  }
  const Tensor total = sum(*weights);
  const Tensor centered = subtract(x, divide(sum(multiply(x, *weights), Dims{1}, true), total));
  const Tensor products = matmul(multiply(centered, *weights), linalg::adjoint(centered));
  Tensor divisor = subtract(total, correction);
  if (aweights && correction != 0) {
    const Tensor counted = cast(as_floating(*aweights, info.name), real_numbers);
    divisor = subtract(total, divide(multiply(sum(multiply(*weights, counted)), correction), total));
  }
  return reshape(divide(products, maximum(divisor, 0)), products.numel() == 1 ? Dims{} : products.shape());
}

Tensor CorrCoef::call(const Tensor& x) {
  const Tensor c = Cov::call(x, 1, std::nullopt, std::nullopt);
  if (c.ndim() == 0) return divide(c, c);
  const Tensor deviations = sqrt(real(diagonal(c)));
  const Tensor y = divide(divide(c, expand_dims(deviations, 1)), deviations);
  if (!is_complex(y.dtype())) return clip(y, Scalar(-1), Scalar(1));
  const auto limited = [](const Tensor& part) { return clip(part, Scalar(-1), Scalar(1)); };
  return add(complex_from(limited(real(y))), complex_from_imaginary(limited(imag(y))));
}

Tensor Bucketize::call(const Tensor& x, const Tensor& boundaries, bool right) {
  check_defined(x, info.name);
  check_defined(boundaries, info.name);
  if (boundaries.ndim() != 1) fail<ValueError>("[bucketize] boundaries must have one axis, got ", boundaries.shape());
  return searchsorted(boundaries, x, right ? "right" : "left");
}

}  // namespace lamella
