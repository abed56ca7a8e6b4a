#include "ops/scan/cumulative.h"

#include <limits>

#include "engine/autograd/recording/recorder.h"
#include "engine/core/modes.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/movement/pick_along.h"
#include "ops/scan/recurrence.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

using cpu::Scan;

/// The gradient is the sum in the opposite direction, because an element contributes to all results behind it.
struct CumSumFn : Function<CumSumFn> {
  static constexpr bool kLinear = true;
  static constexpr std::string_view name = "cumulative_sum";

  static Tensor forward(Context& ctx, const Tensor& x, std::int64_t axis, bool reverse) {
    if (ctx.recording()) ctx.state<Direction>() = {axis, reverse};
    return run_scan(Scan::Sum, x, axis, reverse, "cumulative_sum");
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [axis, reverse] = ctx.state<Direction>();
    return CumSumFn::apply(dy, axis, !reverse);
  }

 private:
  struct Direction {
    std::int64_t axis = 0;
    bool reverse = false;
  };
};

struct CumProdFn : Function<CumProdFn> {
  static constexpr std::string_view name = "cumulative_prod";

  static Tensor forward(Context& ctx, const Tensor& x, std::int64_t axis) {
    Tensor y = run_scan(Scan::Prod, x, axis, false, "cumulative_prod");
    save_with<std::int64_t>(ctx, axis, x, y);
    return y;
  }
  /// The product is y_i = x_i y_(i-1), a recurrence with the gradient dx_i = g_i y_(i-1), which needs no division.
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x, y] = ctx.saved_tensors<2>();
    const std::int64_t axis = ctx.state<std::int64_t>();
    const Tensor g = linear_recurrence(shifted(conj(x), axis, 0, true), dy, axis, true, "cumulative_prod");
    return multiply(g, shifted(conj(y), axis, 1, false));
  }
};

/// Returns x less its largest real part along an axis, where that is finite.
Tensor below_zero(const Tensor& x, std::int64_t axis) {
  if (x.ndim() == 0 || x.numel() == 0) return x;
  const Tensor largest = cummax(real(x.detach()), axis)[0];
  const Tensor last = narrow(largest, axis, x.size(axis) - 1, 1);
  return subtract(x, where(isfinite(last), last, 0.0));
}

struct LogCumSumExpFn : Function<LogCumSumExpFn> {
  static constexpr std::string_view name = "logcumsumexp";

  static Tensor forward(Context& ctx, const Tensor& x, std::int64_t axis) {
    save_with<std::int64_t>(ctx, axis, x);
    return run_scan(Scan::LogSumExp, x, axis, false, "logcumsumexp");
  }
  /// dx_i = sum over j >= i of dy_j exp(x_i - y_j), conjugated for complex numbers. The sum is a recurrence with the
  /// factors exp(y_i - y_(i+1)), which are at most 1 for real numbers. y is computed anew of x less its largest
  /// element: rounded beside a large x, it has lost what the smaller elements add.
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [given] = ctx.saved_tensors<1>();
    const std::int64_t axis = ctx.state<std::int64_t>();
    const Tensor x = conj(below_zero(given, axis));
    const Tensor y = logcumsumexp(x, axis);
    const Tensor above = where(equal(real(y), -std::numeric_limits<double>::infinity()), 0.0, y);
    const Tensor factors = exp(subtract(y, shifted(above, axis, std::numeric_limits<double>::infinity(), true)));
    const Tensor sums = linear_recurrence(factors, dy, axis, true, "logcumsumexp");
    return multiply(sums, exp(subtract(x, above)));
  }
};

std::int64_t required_axis(const Tensor& x, std::optional<std::int64_t> axis, const char* op) {
  check_defined(x, op);
  if (!axis && x.ndim() != 1) {
    fail<ValueError>("[", op, "] axis must be given for a tensor with ", x.ndim(), " axes; flatten(x) has one");
  }
  return normalize_axis_or_scalar(x, axis.value_or(0), op);
}

/// Casts x to `dtype` if that changes the accumulated values.
Tensor in_scan_dtype(const Tensor& x, std::optional<DType> dtype) {
  const bool cast_first = dtype && (is_differentiable(*dtype) || is_differentiable(x.dtype()));
  return cast_first ? cast(x, *dtype) : x;
}

Tensor finished(const Tensor& y, std::int64_t axis, std::optional<DType> dtype, std::optional<double> initial) {
  Tensor result = dtype ? cast(y, *dtype) : y;
  if (!initial) return result;
  if (result.ndim() == 0) return concat({full({1}, *initial, y.dtype(), y.device()), expand_dims(result, 0)}, 0);
  Dims shape = result.shape();
  shape[static_cast<std::size_t>(axis)] = 1;
  return concat({full(shape, *initial, result.dtype(), result.device()), result}, axis);
}

std::vector<Tensor> extremes(const OpInfo& info, Scan scan, const Tensor& x, std::int64_t axis) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  const std::int64_t at = normalize_axis_or_scalar(x, axis, info.name);
  const bool picks = is_followed(x) || is_batched(x) || autograd::is_tracing();
  const Tensor values = picks ? Tensor() : empty(x.shape(), x.dtype(), x.device());
  const Tensor positions = [&] {
    const autograd::NoGrad no_grad;
    return run_scan(scan, x, at, false, info.name, values);
  }();
  note_constant(info.name, {&x}, positions);
  if (picks) return {pick_along(x, positions, at, info.name), positions};
  const Tensor* const inputs[] = {&x};
  autograd::note_derived(inputs, values);
  return {values, positions};
}

}  // namespace

Tensor CumulativeSum::call(const Tensor& x, std::optional<std::int64_t> axis, std::optional<DType> dtype,
                           bool include_initial) {
  const std::int64_t at = required_axis(x, axis, info.name);
  const Tensor y = CumSumFn::apply(in_scan_dtype(x, dtype), at, false);
  return finished(y, at, dtype, include_initial ? std::optional(0.0) : std::nullopt);
}

Tensor CumulativeProd::call(const Tensor& x, std::optional<std::int64_t> axis, std::optional<DType> dtype,
                            bool include_initial) {
  const std::int64_t at = required_axis(x, axis, info.name);
  const Tensor y = CumProdFn::apply(in_scan_dtype(x, dtype), at);
  return finished(y, at, dtype, include_initial ? std::optional(1.0) : std::nullopt);
}

Tensor CumSum::call(const Tensor& x, std::int64_t axis, std::optional<DType> dtype) {
  check_defined(x, info.name);
  const std::int64_t at = normalize_axis_or_scalar(x, axis, info.name);
  return CumulativeSum::call(x, at, dtype, false);
}

Tensor CumProd::call(const Tensor& x, std::int64_t axis, std::optional<DType> dtype) {
  check_defined(x, info.name);
  const std::int64_t at = normalize_axis_or_scalar(x, axis, info.name);
  return CumulativeProd::call(x, at, dtype, false);
}

Tensor LogCumSumExp::call(const Tensor& given, std::int64_t axis) {
  const Tensor x = as_inexact(given, info.name);
  return LogCumSumExpFn::apply(x, normalize_axis_or_scalar(x, axis, info.name));
}

std::vector<Tensor> CumMax::call(const Tensor& x, std::int64_t axis) { return extremes(info, Scan::Max, x, axis); }
std::vector<Tensor> CumMin::call(const Tensor& x, std::int64_t axis) { return extremes(info, Scan::Min, x, axis); }

Tensor Diff::call(const Tensor& x, std::int64_t axis, std::int64_t n, const std::optional<Tensor>& prepend,
                  const std::optional<Tensor>& append) {
  check_defined(x, info.name);
  if (x.ndim() == 0) fail<ValueError>("[diff] a 0-d tensor has no neighbors; it needs at least one axis");
  const std::int64_t at = normalize_axis(axis, x.ndim(), info.name);
  if (n < 0)
    fail<ValueError>("[diff] n, the number of times that differences are taken, must not be negative, got ", n);
  if (n == 0) return clone(x);
  std::vector<Tensor> parts;
  if (prepend) parts.push_back(*prepend);
  parts.push_back(x);
  if (append) parts.push_back(*append);
  Tensor y = parts.size() == 1 ? x : concat(parts, at);
  for (; n > 0; --n) {
    const std::int64_t size = y.shape()[static_cast<std::size_t>(at)];
    const std::int64_t left = std::max<std::int64_t>(size - 1, 0);
    const Tensor later = narrow(y, at, size - left, left);
    const Tensor earlier = narrow(y, at, 0, left);
    y = y.dtype() == DType::Bool ? not_equal(later, earlier) : subtract(later, earlier);
    if (left == 0) break;  // no elements are left to take differences of
  }
  return y;
}

}  // namespace lamella
