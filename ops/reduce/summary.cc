#include "ops/reduce/summary.h"

#include <algorithm>

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/composed.h"
#include "ops/movement/cast.h"
#include "ops/movement/halves.h"
#include "ops/movement/integers.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/reduce/variance.h"
#include "ops/scan/cumulative.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"

namespace lamella {
namespace {

/// Returns twice the areas of the trapezoids between neighbors along the axis, with a spacing of 1 if there is no x.
Tensor double_areas(const OpInfo& info, const Tensor& given, const std::optional<Tensor>& x, std::int64_t axis,
                    std::int64_t& from_end) {
  const Tensor y = as_inexact(given, info.name);
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
  const bool wide = x->defined() && is_wide_integer(x->dtype());
  const Tensor places = wide ? cast(*x, DType::Float64) : as_inexact(*x, info.name);
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
  return multiply(sums, wide ? cast(steps, real_dtype(sums.dtype())) : steps);
}

}  // namespace

std::vector<Tensor> VarMean::call(const Tensor& x, const std::optional<Dims>& axis, double correction, bool keepdims) {
  return {var(x, axis, correction, keepdims), mean(x, axis, keepdims)};
}

std::vector<Tensor> StdMean::call(const Tensor& x, const std::optional<Dims>& axis, double correction, bool keepdims) {
  return {Std::call(x, axis, correction, keepdims), mean(x, axis, keepdims)};
}

std::vector<Tensor> AMinMax::call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims) {
  return {min(x, axis, keepdims), max(x, axis, keepdims)};
}

Tensor AllClose::call(const Operand& a, const Operand& b, double rtol, double atol, bool equal_nan) {
  return all(isclose(a, b, rtol, atol, equal_nan));
}

Tensor Trapezoid::call(const Tensor& y, const std::optional<Tensor>& x, double dx, std::int64_t axis) {
  if (x && any_half(y, x)) [[unlikely]]
    return call_in_float32<Trapezoid>(y, x, dx, axis);
  if (any_integer(y)) return call_in_floats<Trapezoid>(y, x, dx, axis);
  std::int64_t from_end = 0;
  const double scale = x ? 0.5 : dx / 2;
  if (!x && y.ndim() > 0 && y.numel() > 0) {
    // All points except the two ends count twice.
    const Tensor values = as_inexact(y, info.name);
    from_end = normalize_axis(axis, y.ndim(), info.name) - static_cast<std::int64_t>(y.ndim());
    const std::int64_t n = values.size(from_end);
    if (n >= 2) {
      // 16-bit floats are computed in float32 and rounded once.
      const DType wide = is_half(values.dtype()) ? DType::Float32 : values.dtype();
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
  if (any_half(y, x)) [[unlikely]]
    return call_in_float32<CumulativeTrapezoid>(y, x, dx, axis);
  if (any_integer(y)) return call_in_floats<CumulativeTrapezoid>(y, x, dx, axis);
  std::int64_t from_end = 0;
  const Tensor parts = double_areas(info, y, x, axis, from_end);
  return CumSum::call(multiply(parts, x ? 0.5 : dx / 2), from_end, std::nullopt);
}

}  // namespace lamella
