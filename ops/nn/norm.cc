#include "ops/nn/norm.h"

#include <cmath>
#include <limits>

#include "engine/core/modes.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/in_place.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/square.h"
#include "ops/movement/cast.h"
#include "ops/nn/norm_layers.h"
#include "ops/reduce/common_divisor.h"
#include "ops/reduce/sum.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/reshape.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"

namespace lamella {
namespace {

/// Returns the dtype of the computation.
DType computed_in(const Tensor& x, std::initializer_list<const std::optional<Tensor>*> others) {
  DType dtype = promote_types(x.dtype(), DType::Float32);
  for (const auto* other : others) {
    if (*other) dtype = promote_types(dtype, (*other)->dtype());
  }
  return dtype;
}

void check_other(const Tensor& x, const std::optional<Tensor>& other, const Dims& shape, const char* what,
                 const char* op) {
  if (!other) return;
  check_defined(*other, op);
  if (other->shape() != shape)
    fail<ValueError>("[", op, "] ", what, " must have the shape ", shape, ", got ", other->shape(), " (x: ", x.shape(),
                     ")");
  check_dtype(*other, is_complex(x.dtype()) ? Differentiable : Floating, op);
  check_same_device(x, *other, op);
}

std::optional<Tensor> prepared(const std::optional<Tensor>& x, DType dtype, const Dims& shape) {
  if (!x) return std::nullopt;
  return reshape(cast(*x, dtype), shape);
}

void check_input(const Tensor& x, const char* op) {
  check_defined(x, op);
  check_dtype(x, Floating, op);
}

std::int64_t product(DimsView sizes) { return count_elements(sizes); }

/// Checks that x is [n, channels, ..] and returns the number of elements behind the channels.
std::int64_t size_behind_channels(const Tensor& x, const char* op) {
  check_input(x, op);
  if (x.ndim() < 2) fail<ValueError>("[", op, "] x must be [n, channels, ..], got the shape ", x.shape());
  return product(DimsView(x.shape()).subspan(2));
}

/// Returns the number of elements of the trailing axes that `normalized_shape` names.
std::int64_t check_normalized_shape(const Tensor& x, const Dims& normalized_shape, const char* op) {
  const std::size_t count = normalized_shape.size();
  if (count == 0 || count > x.ndim() || Dims(x.shape().end() - count, x.shape().end()) != normalized_shape) {
    fail<ValueError>("[", op, "] normalized_shape must be the last sizes of x, got ", normalized_shape,
                     " for x of the shape ", x.shape());
  }
  return product(normalized_shape);
}

/// Returns the norm of an x without elements. It depends on the parameters, whose gradients are zeros then.
Tensor norm_of_nothing(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                       const Dims& along) {
  Tensor y = x * 1;
  if (weight) y = y * reshape(cast(*weight, x.dtype()), along);
  if (bias) y = y + reshape(cast(*bias, x.dtype()), along);
  return y;
}

/// Returns the shape of a number for each channel of x, [n, channels, ..], as it is broadcast.
Dims along_channels(const Tensor& x) {
  Dims along(x.ndim() - 1, 1);
  along[0] = x.shape()[1];
  return along;
}

Tensor normalize_rows(const Tensor& x, std::int64_t width, const std::optional<Tensor>& weight,
                      const std::optional<Tensor>& bias, const NormSetting& setting) {
  if (x.numel() == 0) return norm_of_nothing(x, weight, bias, weight ? weight->shape() : bias ? bias->shape() : Dims{});
  const DType dtype = computed_in(x, {&weight, &bias});
  const Tensor rows = reshape(cast(x, dtype), {x.numel() / width, 1, 1, width});
  const Tensor y = normalize(rows, prepared(weight, dtype, {width}), prepared(bias, dtype, {width}), setting);
  return cast(reshape(y, x.shape()), x.dtype());
}

Tensor normalize_groups(const Tensor& x, std::int64_t groups, const std::optional<Tensor>& weight,
                        const std::optional<Tensor>& bias, const NormSetting& setting) {
  const std::int64_t size = size_behind_channels(x, setting.op);
  const std::int64_t channels = x.shape()[1];
  check_other(x, weight, {channels}, "weight", setting.op);
  check_other(x, bias, {channels}, "bias", setting.op);
  if (x.numel() == 0) return norm_of_nothing(x, weight, bias, along_channels(x));
  const std::int64_t members = channels / groups;
  const DType dtype = computed_in(x, {&weight, &bias});
  const Dims along{groups, members, 1};
  const Tensor y = normalize(reshape(cast(x, dtype), {x.shape()[0], groups, members, size}),
                             prepared(weight, dtype, along), prepared(bias, dtype, along), setting);
  return cast(reshape(y, x.shape()), x.dtype());
}

/// Computes running = (1 - momentum) running + momentum value, in place.
void update_running(const std::optional<Tensor>& running, const Tensor& value, double momentum) {
  if (!running) return;
  mul_(*running, 1 - momentum);
  add_(*running, cast(value * momentum, running->dtype()));
}

/// Returns x, [n, channels, ..], normalized by the running statistics.
Tensor normalized_by(const Tensor& x, const Tensor& mean, const Tensor& variance, const std::optional<Tensor>& weight,
                     const std::optional<Tensor>& bias, double eps) {
  const std::int64_t channels = x.shape()[1];
  const DType dtype = computed_in(x, {&weight, &bias});
  Tensor scale = reciprocal(sqrt(cast(variance, dtype) + eps));
  if (weight) scale = scale * cast(*weight, dtype);
  Tensor shift = -cast(mean, dtype) * scale;
  if (bias) shift = shift + cast(*bias, dtype);
  const Tensor planes = reshape(cast(x, dtype), {x.shape()[0], channels, product(DimsView(x.shape()).subspan(2))});
  const Tensor y = scale_and_shift(planes, reshape(scale, {channels, 1}), reshape(shift, {channels, 1}));
  return cast(reshape(y, x.shape()), x.dtype());
}

/// Normalizes each channel of each example as a channel of one example; `statistics` become [n, channels].
Tensor normalize_instances(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                           const NormSetting& setting, BatchStatistics& statistics) {
  const std::int64_t examples = x.shape()[0];
  const std::int64_t channels = x.shape()[1];
  const DType dtype = computed_in(x, {&weight, &bias});
  const auto repeated = [&](const std::optional<Tensor>& each) -> std::optional<Tensor> {
    if (!each) return std::nullopt;
    return reshape(broadcast_to(cast(*each, dtype), {examples, channels}), {examples * channels, 1, 1});
  };
  const Dims planes{1, examples * channels, 1, product(DimsView(x.shape()).subspan(2))};
  const Tensor y = normalize(reshape(cast(x, dtype), planes), repeated(weight), repeated(bias), setting, &statistics);
  if (statistics.mean.defined()) {
    statistics.mean = reshape(statistics.mean, {examples, channels});
    statistics.variance = reshape(statistics.variance, {examples, channels});
  }
  return cast(reshape(y, x.shape()), x.dtype());
}

double spacing_of(DType dtype) {
  switch (real_dtype(dtype)) {
    case DType::Float16:
      return 0x1p-10;
    case DType::BFloat16:
      return 0x1p-7;
    case DType::Float32:
      return std::numeric_limits<float>::epsilon();
    default:
      return std::numeric_limits<double>::epsilon();
  }
}

/// Uses the mean of x * x, not of |x|^2, as PyTorch does.
Tensor complex_rms_norm(const Tensor& x, const Dims& normalized_shape, const std::optional<Tensor>& weight,
                        const NormSetting& setting) {
  Dims axes;
  for (std::size_t i = 0; i < normalized_shape.size(); ++i) axes.push_back(-1 - static_cast<std::int64_t>(i));
  const double least = std::sqrt(setting.eps);
  const Tensor divisor = divisor_into_range(x, axes, least);
  const Tensor scaled = divisor.defined() ? divide(x, divisor) : x;
  const Tensor squares = mean(square(scaled), axes, true);
  const Tensor y = divide(scaled, sqrt(divisor.defined() ? squares + square(least / divisor) : squares + setting.eps));
  return weight ? cast(multiply(y, *weight), x.dtype()) : y;
}

}  // namespace

Tensor LayerNorm::call(const Tensor& x, const Dims& normalized_shape, const std::optional<Tensor>& weight,
                       const std::optional<Tensor>& bias, double eps) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<LayerNorm>(x, normalized_shape, weight, bias, eps);
  check_input(x, info.name);
  const std::int64_t width = check_normalized_shape(x, normalized_shape, info.name);
  check_other(x, weight, normalized_shape, "weight", info.name);
  check_other(x, bias, normalized_shape, "bias", info.name);
  return normalize_rows(x, width, weight, bias, NormSetting(info.name, NormOver::Rows, eps));
}

Tensor RmsNorm::call(const Tensor& x, const Dims& normalized_shape, const std::optional<Tensor>& weight,
                     std::optional<double> eps) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<RmsNorm>(x, normalized_shape, weight, eps);
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  const std::int64_t width = check_normalized_shape(x, normalized_shape, info.name);
  check_other(x, weight, normalized_shape, "weight", info.name);
  const NormSetting setting(info.name, NormOver::Rows, eps.value_or(spacing_of(x.dtype())), false);
  if (is_complex(x.dtype())) return complex_rms_norm(x, normalized_shape, weight, setting);
  return normalize_rows(x, width, weight, std::nullopt, setting);
}

Tensor GroupNorm::call(const Tensor& x, std::int64_t num_groups, const std::optional<Tensor>& weight,
                       const std::optional<Tensor>& bias, double eps) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<GroupNorm>(x, num_groups, weight, bias, eps);
  size_behind_channels(x, info.name);
  if (num_groups < 1 || x.shape()[1] % num_groups != 0) {
    fail<ValueError>("[group_norm] num_groups must divide the ", x.shape()[1], " channels of x, got ", num_groups);
  }
  return normalize_groups(x, num_groups, weight, bias, NormSetting(info.name, NormOver::Groups, eps));
}

Tensor InstanceNorm::call(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                          double eps, const std::optional<Tensor>& running_mean,
                          const std::optional<Tensor>& running_var, bool use_input_stats, double momentum) {
  const std::int64_t size = size_behind_channels(x, info.name);
  const Dims along{x.shape()[1]};
  check_other(x, running_mean, along, "running_mean", info.name);
  check_other(x, running_var, along, "running_var", info.name);
  if (!use_input_stats) {
    if (!running_mean || !running_var)
      fail<ValueError>("[instance_norm] without use_input_stats running_mean and running_var must be given");
    check_other(x, weight, along, "weight", info.name);
    check_other(x, bias, along, "bias", info.name);
    return normalized_by(x, *running_mean, *running_var, weight, bias, eps);
  }
  if (size == 1 || x.ndim() < 3) {
    fail<ValueError>("[instance_norm] each channel needs more than one element, got x of the shape ", x.shape());
  }
  if ((!running_mean && !running_var) || x.numel() == 0)
    return normalize_groups(x, x.shape()[1], weight, bias, NormSetting(info.name, NormOver::Groups, eps));
  check_other(x, weight, along, "weight", info.name);
  check_other(x, bias, along, "bias", info.name);
  BatchStatistics statistics;
  const Tensor y = normalize_instances(x, weight, bias, NormSetting(info.name, NormOver::Batch, eps), statistics);
  // Undefined if a checkpoint took y from its saved results.
  if (statistics.mean.defined()) {
    const autograd::NoGrad no_grad;
    const double elements = static_cast<double>(size);
    update_running(running_mean, mean(statistics.mean, Dims{0}), momentum);
    update_running(running_var, mean(statistics.variance, Dims{0}) * (elements / (elements - 1)), momentum);
  }
  return y;
}

Tensor BatchNorm::call(const Tensor& x, const std::optional<Tensor>& running_mean,
                       const std::optional<Tensor>& running_var, const std::optional<Tensor>& weight,
                       const std::optional<Tensor>& bias, bool training, double momentum, double eps) {
  const char* const op = info.name;
  const std::int64_t size = size_behind_channels(x, op);
  const std::int64_t examples = x.shape()[0];
  const std::int64_t channels = x.shape()[1];
  const Dims along{channels};
  check_other(x, running_mean, along, "running_mean", op);
  check_other(x, running_var, along, "running_var", op);
  check_other(x, weight, along, "weight", op);
  check_other(x, bias, along, "bias", op);
  if (!training) {
    if (!running_mean || !running_var)
      fail<ValueError>("[batch_norm] outside of training running_mean and running_var must be given");
    return normalized_by(x, *running_mean, *running_var, weight, bias, eps);
  }
  if (examples * size == 1)
    fail<ValueError>("[batch_norm] training needs more than one element of each channel, got x of the shape ",
                     x.shape());
  if (x.numel() == 0) return norm_of_nothing(x, weight, bias, along_channels(x));
  const DType dtype = computed_in(x, {&weight, &bias});
  const Dims along_planes{channels, 1, 1};
  BatchStatistics statistics;
  const Tensor y =
      normalize(reshape(cast(x, dtype), {examples, channels, 1, size}), prepared(weight, dtype, along_planes),
                prepared(bias, dtype, along_planes), NormSetting(op, NormOver::Batch, eps), &statistics);
  // Undefined if a checkpoint took y from its saved results.
  if (statistics.mean.defined()) {
    const autograd::NoGrad no_grad;
    const double elements = static_cast<double>(examples) * static_cast<double>(size);
    update_running(running_mean, statistics.mean, momentum);
    if (running_var) update_running(running_var, statistics.variance * (elements / (elements - 1)), momentum);
  }
  return cast(reshape(y, x.shape()), x.dtype());
}

}  // namespace lamella
