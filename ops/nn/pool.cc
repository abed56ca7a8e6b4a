#include "ops/nn/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "engine/core/modes.h"
#include "ops/arrange/sliding_window.h"
#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/pow.h"
#include "ops/elementwise/square.h"
#include "ops/movement/cast.h"
#include "ops/movement/halves.h"
#include "ops/movement/integers.h"
#include "ops/nn/pad.h"
#include "ops/nn/pool_layers.h"
#include "ops/nn/spatial.h"
#include "ops/reduce/common_divisor.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/norm_range.h"
#include "ops/reduce/power_norm.h"
#include "ops/reduce/sum.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/extension_device.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// The parameters of a call, one number per spatial axis.
struct Setting {
  Dims kernel;
  Dims stride;
  Dims pad_low;
  Dims pad_high;
  Dims dilation;
  bool ceil_mode = false;
};

Tensor checked(const Tensor& x, DTypeSet dtypes, std::size_t axes, const char* op) {
  check_defined(x, op);
  check_dtype(x, dtypes, op);
  const Tensor batched = with_batch_axis(x, axes, op);
  for (std::size_t i = 2; i < batched.ndim(); ++i) {
    if (batched.shape()[i] == 0) fail<ValueError>("[", op, "] x has no elements along axis ", i, ": ", x.shape());
  }
  return batched;
}

Setting read_setting(std::size_t axes, const Dims& kernel_size, const std::optional<Dims>& stride, const Dims& padding,
                     const Dims& dilation, bool ceil_mode, const char* op) {
  Setting setting;
  setting.kernel = spatial_numbers(kernel_size, axes, 1, op, "kernel_size");
  setting.stride = stride && !stride->empty() ? spatial_numbers(*stride, axes, 1, op, "stride") : setting.kernel;
  setting.pad_low = setting.pad_high = spatial_numbers(padding, axes, 0, op, "padding");
  setting.dilation = spatial_numbers(dilation, axes, 1, op, "dilation");
  setting.ceil_mode = ceil_mode;
  for (std::size_t i = 0; i < axes; ++i) {
    if (2 * setting.pad_low[i] > setting.dilation[i] * (setting.kernel[i] - 1) + 1) {
      fail<ValueError>("[", op, "] padding must be at most half of the kernel, dilation included, got padding ",
                       setting.pad_low, ", kernel_size ", setting.kernel, " and dilation ", setting.dilation);
    }
  }
  return setting;
}

std::int64_t window_count(std::int64_t in, const Setting& setting, std::size_t i, const Tensor& x, const char* op) {
  const std::int64_t reach = setting.dilation[i] * (setting.kernel[i] - 1) + 1;
  const std::int64_t padded = setting.pad_low[i] + setting.pad_high[i];
  // With ceil_mode a first window may also reach beyond the end, by less than a stride.
  const std::int64_t beyond = setting.ceil_mode && in > 0 ? setting.stride[i] - 1 : 0;
  if (in > std::numeric_limits<std::int64_t>::max() / 2 || in + padded < reach - beyond) {
    fail<ValueError>("[", op, "] the kernel, ", reach, " long with its dilation, does not fit into an axis of ", in,
                     " elements with a padding of ", padded, " in all (x: ", x.shape(), ")");
  }
  const std::int64_t steps = std::max<std::int64_t>(0, in + padded - reach);
  std::int64_t count = steps / setting.stride[i] + 1;
  if (setting.ceil_mode && steps % setting.stride[i] != 0 && count * setting.stride[i] < in + setting.pad_low[i])
    ++count;
  return count;
}

/// Returns the plan of a call; each window's sum is multiplied by `factor` and divided as `divisor` says.
SharedPlan plan_windows(const Tensor& x, const Setting& setting, PoolDivisor divisor, const char* op,
                        double factor = 1) {
  std::vector<PoolWindows> axes;
  for (std::size_t i = 0; i < setting.kernel.size(); ++i) {
    const std::int64_t in = x.shape()[i + 2];
    axes.push_back({.in = in,
                    .out = window_count(in, setting, i, x, op),
                    .kernel = setting.kernel[i],
                    .stride = setting.stride[i],
                    .pad_low = setting.pad_low[i],
                    .pad_high = setting.pad_high[i],
                    .step = setting.dilation[i],
                    .divisor = divisor,
                    .factor = i == 0 ? factor : 1});
  }
  return std::make_shared<const PoolPlan>(axes, reads_tables(x));
}

SharedPlan plan_adaptive(const Tensor& x, const OutputSize& output_size, std::size_t axes, const char* op) {
  const Dims sizes = spatial_numbers(output_size.of(spatial_sizes(x)), axes, 0, op, "output_size");
  Dims shape = x.shape();
  std::copy(sizes.begin(), sizes.end(), shape.begin() + 2);
  // Throws if there is no memory for the result before its windows are listed, which would take as long.
  if (reads_tables(x) && count_elements(shape) > x.numel()) empty(shape, x.dtype(), x.device());
  std::vector<PoolWindows> windows(axes);
  for (std::size_t i = 0; i < axes; ++i) windows[i] = {.in = x.shape()[i + 2], .out = sizes[i], .adaptive = true};
  return std::make_shared<const PoolPlan>(windows, reads_tables(x));
}

/// Returns x in a dtype that pool_sum() accepts.
Tensor summed(const Tensor& x) { return is_floating(x.dtype()) ? x : cast(x, DType::Int64); }

std::array<Tensor, 2> max_windows(const OpInfo& info, std::size_t axes, const Tensor& x, const Dims& kernel_size,
                                  const std::optional<Dims>& stride, const Dims& padding, const Dims& dilation,
                                  bool ceil_mode, bool places) {
  const Tensor batched = checked(x, info.dtypes, axes, info.name);
  const Setting setting = read_setting(axes, kernel_size, stride, padding, dilation, ceil_mode, info.name);
  auto found = pool_max(batched, plan_windows(batched, setting, PoolDivisor::None, info.name), places, info.name);
  return {without_batch_axis(found[0], x), places ? without_batch_axis(found[1], x) : Tensor()};
}

std::array<Tensor, 2> max_adaptive(const OpInfo& info, std::size_t axes, const Tensor& x, const OutputSize& output_size,
                                   bool places) {
  const Tensor batched = checked(x, info.dtypes, axes, info.name);
  auto found = pool_max(batched, plan_adaptive(batched, output_size, axes, info.name), places, info.name);
  return {without_batch_axis(found[0], x), places ? without_batch_axis(found[1], x) : Tensor()};
}

/// True if sums of powers over the windows of x may be beyond the range of numbers: on the CPU they are looked at; a
/// GPU would have to be waited for, and under vmap no single one decides.
bool may_lose_powers(const Tensor& sums, double p, const Tensor& x, const SharedPlan& plan, const char* op) {
  if (p == 1 || x.numel() == 0 || sums.device().is_meta() || is_extension(sums.device())) return false;
  if (!sums.device().is_cpu() || is_batched(sums)) return true;
  const autograd::NoGrad no_grad;
  bool lost = false;
  visit<DTypeSet{DType::Float32, DType::Float64}>(sums.dtype(), op, [&]<class T> {
    const std::span<const T> all(sums.data<T>(), static_cast<std::size_t>(sums.numel()));
    lost = std::ranges::any_of(all, [](T sum) { return sum != 0 && is_beyond_range(std::abs(sum)); });
    if (lost || std::ranges::find(all, T(0)) == all.end()) return;
    const Tensor largest = pool_max(abs(x), plan, false, op)[0];
    const T* const m = largest.data<T>();
    for (std::size_t i = 0; i < all.size() && !lost; ++i) lost = all[i] == 0 && m[i] > 0;
  });
  return lost;
}

/// Returns the norms of the windows, computed from elements divided by the largest of their window, so that no power is
/// beyond the range of numbers. The result does not depend on the divisor, which so needs no derivative.
Tensor window_norms(const Tensor& x, double p, const Setting& setting, const char* op) {
  const std::size_t axes = setting.kernel.size();
  Dims padding;
  for (std::size_t i = axes; i-- > 0;) {
    const std::int64_t in = x.shape()[i + 2];
    const std::int64_t reach = (window_count(in, setting, i, x, op) - 1) * setting.stride[i] + setting.kernel[i];
    padding.push_back(0);
    padding.push_back(std::max<std::int64_t>(0, reach - in));
  }
  Tensor windows = pad(x, padding);
  Dims within;
  for (std::size_t i = 0; i < axes; ++i) {
    windows = sliding_window(windows, static_cast<std::int64_t>(i) + 2, setting.kernel[i], setting.stride[i]);
    within.push_back(static_cast<std::int64_t>(x.ndim() + i));
  }
  const Tensor divisor = largest_or_one(windows, within);
  const Tensor sums = sum(power_or_zero(divide(windows, divisor), p), within);
  return multiply(root_or_zero(sums, p), reshape(divisor, sums.shape()));
}

}  // namespace

template <int N>
Tensor MaxPool<N>::call(const Tensor& x, const Dims& kernel_size, const std::optional<Dims>& stride,
                        const Dims& padding, const Dims& dilation, bool ceil_mode) {
  return max_windows(info, N, x, kernel_size, stride, padding, dilation, ceil_mode, false)[0];
}

template <int N>
std::vector<Tensor> MaxPoolWithIndices<N>::call(const Tensor& x, const Dims& kernel_size,
                                                const std::optional<Dims>& stride, const Dims& padding,
                                                const Dims& dilation, bool ceil_mode) {
  auto [values, places] = max_windows(info, N, x, kernel_size, stride, padding, dilation, ceil_mode, true);
  return {std::move(values), std::move(places)};
}

template <int N>
Tensor AvgPool<N>::call(const Tensor& x, const Dims& kernel_size, const std::optional<Dims>& stride,
                        const Dims& padding, bool ceil_mode, bool count_include_pad,
                        std::optional<std::int64_t> divisor_override) {
  const Tensor batched = checked(x, info.dtypes, N, info.name);
  if (divisor_override && *divisor_override == 0) fail<ValueError>("[", info.name, "] divisor_override must not be 0");
  const Setting setting = read_setting(N, kernel_size, stride, padding, {1}, ceil_mode, info.name);
  const PoolDivisor divisor = divisor_override    ? PoolDivisor::None
                              : count_include_pad ? PoolDivisor::Padded
                                                  : PoolDivisor::Inside;
  const double factor = divisor_override ? 1.0 / static_cast<double>(*divisor_override) : 1.0;
  const Tensor y = pool_sum(summed(batched), plan_windows(batched, setting, divisor, info.name, factor), info.name);
  return without_batch_axis(cast(y, x.dtype()), x);
}

template <int N>
Tensor LpPool<N>::call(const Tensor& x, double norm_type, const Dims& kernel_size, const std::optional<Dims>& stride,
                       bool ceil_mode) {
  const Tensor batched = checked(x, info.dtypes, N, info.name);
  if (!(norm_type > 0)) fail<ValueError>("[", info.name, "] norm_type must be positive, got ", norm_type);
  if (std::isinf(norm_type)) return MaxPool<N>::call(abs(x), kernel_size, stride, {0}, {1}, ceil_mode);
  if (any_half(x)) [[unlikely]]
    return call_in_float32<LpPool>(x, norm_type, kernel_size, stride, ceil_mode);
  const Setting setting = read_setting(N, kernel_size, stride, {0}, {1}, ceil_mode, info.name);
  const SharedPlan plan = plan_windows(batched, setting, PoolDivisor::None, info.name);
  constexpr double kMostInDouble = 8;  // powers up to which the largest float32 is within the range of double
  if (x.device().is_cuda() && x.dtype() == DType::Float32 && norm_type <= kMostInDouble) {
    const Tensor sums = pool_sum(power_or_zero(cast(batched, DType::Float64), norm_type), plan, info.name);
    return without_batch_axis(cast(root_or_zero(sums, norm_type), DType::Float32), x);
  }
  const Tensor sums = pool_sum(power_or_zero(batched, norm_type), plan, info.name);
  const Tensor y = may_lose_powers(sums, norm_type, batched, plan, info.name)
                       ? window_norms(batched, norm_type, setting, info.name)
                       : root_or_zero(sums, norm_type);
  return without_batch_axis(y, x);
}

template <int N>
Tensor AdaptiveAvgPool<N>::call(const Tensor& x, const OutputSize& output_size) {
  const Tensor batched = checked(x, info.dtypes, N, info.name);
  const Dims sizes = spatial_numbers(output_size.of(spatial_sizes(batched)), N, 0, info.name, "output_size");
  if (std::ranges::all_of(sizes, [](std::int64_t size) { return size == 1; })) {
    Dims all;
    for (std::int64_t i = 0; i < N; ++i) all.push_back(2 + i);
    return without_batch_axis(mean(batched, all, true), x);
  }
  return without_batch_axis(pool_sum(batched, plan_adaptive(batched, output_size, N, info.name), info.name), x);
}

template <int N>
Tensor AdaptiveMaxPool<N>::call(const Tensor& x, const OutputSize& output_size) {
  return max_adaptive(info, N, x, output_size, false)[0];
}

template <int N>
std::vector<Tensor> AdaptiveMaxPoolWithIndices<N>::call(const Tensor& x, const OutputSize& output_size) {
  auto [values, places] = max_adaptive(info, N, x, output_size, true);
  return {std::move(values), std::move(places)};
}

Tensor LocalResponseNorm::call(const Tensor& x, std::int64_t size, double alpha, double beta, double k) {
  if (any_half(x)) [[unlikely]]
    return call_in_float32<LocalResponseNorm>(x, size, alpha, beta, k);
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  if (any_integer(x)) return call_in_floats<LocalResponseNorm>(x, size, alpha, beta, k);
  if (x.ndim() < 2) fail<ValueError>("[local_response_norm] x must be [n, channels, ..], got the shape ", x.shape());
  const Dims sizes = spatial_numbers({size}, 1, 1, info.name, "size");
  if (x.numel() == 0) return divide(x, 1);
  // The channels become a spatial axis, and all axes behind them merge into the other one.
  const std::int64_t channels = x.shape()[1];
  const Tensor squares = reshape(square(summed(x)), {x.shape()[0], 1, channels, x.numel() / x.shape()[0] / channels});
  const Setting setting{.kernel = {sizes[0], 1},
                        .stride = {1, 1},
                        .pad_low = {sizes[0] / 2, 0},
                        .pad_high = {(sizes[0] - 1) / 2, 0},
                        .dilation = {1, 1}};
  const Tensor means = pool_sum(squares, plan_windows(squares, setting, PoolDivisor::Padded, info.name), info.name);
  return divide(x, pow(add(multiply(reshape(means, x.shape()), alpha), k), beta));
}

template struct MaxPool<1>;
template struct MaxPool<2>;
template struct MaxPool<3>;
template struct MaxPoolWithIndices<1>;
template struct MaxPoolWithIndices<2>;
template struct MaxPoolWithIndices<3>;
template struct AvgPool<1>;
template struct AvgPool<2>;
template struct AvgPool<3>;
template struct LpPool<1>;
template struct LpPool<2>;
template struct LpPool<3>;
template struct AdaptiveAvgPool<1>;
template struct AdaptiveAvgPool<2>;
template struct AdaptiveAvgPool<3>;
template struct AdaptiveMaxPool<1>;
template struct AdaptiveMaxPool<2>;
template struct AdaptiveMaxPool<3>;
template struct AdaptiveMaxPoolWithIndices<1>;
template struct AdaptiveMaxPoolWithIndices<2>;
template struct AdaptiveMaxPoolWithIndices<3>;

}  // namespace lamella
