#include "ops/reduce/log_sum_exp.h"

#include <algorithm>
#include <limits>

#include "engine/autograd/layers/function.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/log.h"
#include "ops/elementwise/predicates.h"
#include "ops/elementwise/where.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/may_hold.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/sum.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/reshape.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

/// Replaces minus infinity in y by 0: all elements are then minus infinity, and exp(x - y) is 0 for each.
Tensor finite_below(const Tensor& y) { return where(equal(y, -std::numeric_limits<double>::infinity()), 0.0, y); }

/// Returns the sums of exp(x - y), 1 where these are 0. They are 1 but for rounding, which of large x takes from y all
/// that the smaller elements add to the largest.
Tensor totals(const Tensor& exponentials, const Dims& axes) {
  const Tensor total = sum(exponentials, axes, true);
  return where(equal(total, 0), 1, total);
}

/// Returns exp(x - y) over the sums of them; if y is infinite, equal shares of 1 for the elements that equal it.
Tensor shares(const Tensor& x, const Tensor& y, const Dims& axes) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor endless = equal(y, infinity);
  const Tensor ties = cast(equal(x, infinity), x.dtype());
  const Tensor finite = exp(subtract(where(endless, 0, x), where(endless, 0, y)));
  return where(endless, divide(ties, maximum(sum(ties, axes, true), 1)), divide(finite, totals(finite, axes)));
}

constexpr std::int64_t kGrain = 8192;      // elements that one thread takes at a time
constexpr std::int64_t kManyRows = 8;      // rows that keep all threads busy
constexpr std::int64_t kShortRow = 16384;  // elements of a row that is not split over threads

/// Returns the number of elements per row if kernels can reduce x, contiguous, over its last axes; 0 otherwise.
std::int64_t row_width(const Tensor& x, const Dims& axes) {
  if (!(DTypeSet{DType::Float32, DType::Float64}).contains(x.dtype()) || !x.device().is_cpu()) return 0;
  if (is_batched(x) || axes.empty() || x.numel() == 0 || !x.is_contiguous()) return 0;
  std::int64_t width = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = x.ndim() - axes.size() + i;
    if (axes[i] != static_cast<std::int64_t>(axis)) return 0;
    width *= x.shape()[axis];
  }
  return x.numel() / width >= kManyRows || width <= kShortRow ? width : 0;
}

Tensor log_sum_exp_rows(const Tensor& x, std::int64_t width, const Dims& shape) {
  const Tensor y = empty(shape, x.dtype());
  const HostRelease release(x.numel());
  const auto run = [&]<class T>(const cpu::SoftmaxKernels<T>& kernels, T) {
    parallel_for(0, x.numel() / width, std::max<std::int64_t>(1, kGrain / width),
                 [&](std::int64_t begin, std::int64_t end) {
                   kernels.log_sum_exp(x.data<T>() + begin * width, y.data<T>() + begin, end - begin, width);
                 });
  };
  const cpu::SoftmaxTable& table = cpu_kernels().softmax;
  x.dtype() == DType::Float32 ? run(table.float32, float()) : run(table.float64, double());
  return y;
}

Tensor composed(const Tensor& x, const Dims& axes, bool keepdims) {
  const Tensor largest = max(x, axes, true);
  // An infinite maximum is not subtracted: inf - inf would be NaN.
  const Tensor top = where(isfinite(largest), largest, 0.0);
  const Tensor y = add(log(sum(exp(subtract(x, top)), axes, true)), top);
  return keepdims ? y : reshape(y, reduced_shape(x, axes, false));
}

/// dx = exp(x - y) dy, the softmax of x times dy.
struct LogSumExpFn : Function<LogSumExpFn> {
  static constexpr std::string_view name = "logsumexp";

  static Tensor forward(Context& ctx, const Tensor& x, const Dims& axes, bool keepdims) {
    remember_axes(ctx, x, axes);
    const std::int64_t width = row_width(x, axes);
    const Tensor y =
        width > 0 ? log_sum_exp_rows(x, width, reduced_shape(x, axes, keepdims)) : composed(x, axes, keepdims);
    ctx.save_for_backward(x, y);
    if (ctx.recording()) ctx.state<Dims>() = axes;
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x, y] = ctx.saved_tensors<2>();
    const Dims& axes = ctx.state<Dims>();
    const Dims shape = reduced_shape(x, axes, true);
    const Tensor total = reshape(finite_below(y), shape);
    const Tensor gradient = reshape(dy, shape);
    if (may_hold(equal(y, std::numeric_limits<double>::infinity()))) return multiply(shares(x, total, axes), gradient);
    const Tensor exponentials = exp(subtract(x, total));
    return multiply(exponentials, divide(gradient, totals(exponentials, axes)));
  }
};

/// dx = dy, broadcast; 0 where x is NaN.
struct NanSumFn : OperatorLayer<NanSumFn> {
  static constexpr std::string_view name = "nansum";

  static Tensor forward(Context& ctx, const Tensor& x, const Dims& axes, bool keepdims) {
    remember_axes(ctx, x, axes);
    if (ctx.recording()) ctx.save_for_backward(x);
    return reduce(cpu::Reduction::NanSum, x, axes, keepdims, "nansum");
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x] = ctx.saved_tensors<1>();
    return where(isnan(x), 0.0, with_reduced_axes(ctx, dy));
  }
};

}  // namespace

Tensor LogSumExp::call(const Tensor& given, const std::optional<Dims>& axis, bool keepdims) {
  check_defined(given, info.name);
  if (is_complex(given.dtype())) {
    const Dims axes = normalize_axes_or_scalar(given, axis, info.name);
    if (given.numel() == 0) return log(sum(given, axes, keepdims));
    // Subtracts the largest real part before the exponentials; the result does not depend on it.
    const Tensor largest = max(real(given.detach()), axes, true);
    const Tensor top = where(isfinite(largest), largest, 0.0);
    const Tensor y = add(log(sum(exp(subtract(given, top)), axes, true)), top);
    return keepdims ? y : reshape(y, reduced_shape(given, axes, false));
  }
  const Tensor x = as_floating(given, info.name);
  const Dims axes = normalize_axes_or_scalar(x, axis, info.name);
  const bool nothing =
      std::ranges::any_of(axes, [&](std::int64_t a) { return x.shape()[static_cast<std::size_t>(a)] == 0; });
  if (nothing) return log(sum(x, axes, keepdims));
  return LogSumExpFn::apply(x, axes, keepdims);
}

Tensor NanSum::call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims, std::optional<DType> dtype) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  if (!is_floating(x.dtype())) return sum(x, axis, keepdims, dtype);
  // Composed if autocast chooses the dtype of the sum, or on an extension's device, which may have a kernel for sums.
  if (!is_floating(dtype.value_or(x.dtype())) || autograd::autocast_active() || is_extension(x.device()))
    return sum(where(isnan(x), 0.0, x), axis, keepdims, dtype);
  const Tensor values = dtype ? cast(x, *dtype) : x;
  return NanSumFn::apply(values, normalize_axes_or_scalar(values, axis, info.name), keepdims);
}

Tensor NanMean::call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  // Sum and count may be beyond 16 bits where the mean is not.
  if (is_half(x.dtype())) return cast(call(cast(x, DType::Float32), axis, keepdims), x.dtype());
  const Tensor count = cast(sum(equal(x, x), axis, keepdims), x.dtype());
  return divide(nansum(x, axis, keepdims), count);
}

}  // namespace lamella
