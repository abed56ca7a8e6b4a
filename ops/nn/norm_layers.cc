#include "ops/nn/norm_layers.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/autograd/graph/running_pass.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/square.h"
#include "ops/movement/cast.h"
#include "ops/nn/norm_columns.h"
#include "ops/nn/norm_planes.h"
#include "ops/reduce/common_divisor.h"
#include "ops/reduce/sum.h"
#include "ops/reduce/variance.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/reshape.h"
#include "ops/support/caches.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

// Note [Normalization]
// The usual call is one kernel forward and one backward, which saves the mean and deviation only.
// Everything else (a gradient that is itself recorded, forward mode, batched weights, other devices) is composed of
// operators from x again and is correct to any order. Planes, the elements of one channel of one example, are measured
// one by one; the measures are combined for groups and batches in double.

namespace lamella {
namespace {

constexpr std::int64_t kGrain = 16384;     // elements that one thread takes at a time
constexpr std::int64_t kMaxParts = 64;     // most parts of the rows, for gradients of weights
constexpr std::int64_t kSmallPlane = 64;   // elements of the largest plane that counts as small
constexpr std::int64_t kColumnGrain = 64;  // columns per task

template <class T>
const cpu::NormKernels<T>& kernels() {
  return cpu::kernels_of<T>(cpu_kernels().norm);
}

template <class F>
decltype(auto) with_type(const Tensor& x, const NormSetting& setting, F&& f) {
  return visit<DTypeSet{DType::Float32, DType::Float64}>(x.dtype(), setting.op, f);
}

// ---- composed of operators

Dims axes_of(NormOver over) {
  switch (over) {
    case NormOver::Rows:
      return {3};
    case NormOver::Groups:
      return {2, 3};
    case NormOver::Batch:
      return {0, 2, 3};
  }
  return {};
}

/// Mean and variance of x, and x normalized, all computed from x / divisor where squares of x are beyond the range.
class Measured {
 public:
  Measured(const Tensor& given, const NormSetting& setting) {
    const Dims axes = axes_of(setting.over);
    const double least = std::sqrt(setting.eps);
    divisor_ = divisor_into_range(given, axes, least);
    const Tensor x = divisor_.defined() ? given / divisor_ : given;
    if (setting.centered) mean_ = lamella::mean(x, axes, true);
    const Tensor centered = setting.centered ? lamella::centered(x, axes) : x;
    variance_ = lamella::mean(square(centered), axes, true);
    rstd_ = reciprocal(sqrt(divisor_.defined() ? variance_ + square(least / divisor_) : variance_ + setting.eps));
    normal = centered * rstd_;
  }

  Tensor mean() const { return scaled_up(mean_); }
  Tensor variance() const { return scaled_up(scaled_up(variance_)); }
  /// Returns g / sqrt(variance + eps).
  Tensor over_deviation(const Tensor& g) const {
    const Tensor scaled = g * rstd_;
    return divisor_.defined() ? scaled / divisor_ : scaled;
  }

  Tensor normal;

 private:
  Tensor scaled_up(const Tensor& x) const { return divisor_.defined() ? x * divisor_ : x; }

  Tensor divisor_;
  Tensor mean_;
  Tensor variance_;
  Tensor rstd_;
};

Tensor composed(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                const NormSetting& setting, BatchStatistics* statistics) {
  const Measured measured(x, setting);
  Tensor y = measured.normal;
  if (weight) y = y * *weight;
  if (bias) y = y + *bias;
  if (statistics) *statistics = {reshape(measured.mean(), {x.size(1)}), reshape(measured.variance(), {x.size(1)})};
  return y;
}

using Grads = NormGrads;
using Measures = NormMeasures;

Grads composed_grads(const Tensor& x, const Tensor& weight, const Dims& bias_shape, const Tensor& dy,
                     const NormSetting& setting, bool want_x, bool want_weight, bool want_bias) {
  Grads grads;
  if (want_bias) grads.bias = sum_to(dy, bias_shape);
  if (!want_x && !want_weight) return grads;
  const Measured measured(x, setting);
  const Tensor& normal = measured.normal;
  if (want_weight) grads.weight = sum_to(dy * normal, weight.shape());
  if (!want_x) return grads;
  const Dims axes = axes_of(setting.over);
  const Tensor g = weight.defined() ? dy * weight : dy;
  Tensor dx = g - normal * mean(g * normal, axes, true);
  if (setting.centered) dx = dx - mean(g, axes, true);
  grads.x = measured.over_deviation(dx);
  return grads;
}

// ---- rows, by kernels

Tensor rows_forward(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                    const NormSetting& setting, Measures& measures) {
  const std::int64_t width = x.shape().back();
  const std::int64_t rows = x.numel() / width;
  const Tensor y = empty_like(x);
  measures = {empty({rows}, x.dtype()), empty({rows}, x.dtype())};
  const Tensor w = weight ? contiguous(*weight) : Tensor();
  const Tensor b = bias ? contiguous(*bias) : Tensor();
  const bool past_caches = outgrow_caches(x.nbytes() + y.nbytes());
  const HostRelease release(x.numel());
  with_type(x, setting, [&]<class T> {
    parallel_for(0, rows, std::max<std::int64_t>(1, kGrain / width), [&](std::int64_t first, std::int64_t last) {
      kernels<T>().rows(x.data<T>() + first * width, w.defined() ? w.data<T>() : nullptr,
                        b.defined() ? b.data<T>() : nullptr, y.data<T>() + first * width,
                        measures.mean.data<T>() + first, measures.rstd.data<T>() + first, last - first, width,
                        setting.eps, setting.centered, past_caches);
    });
  });
  return y;
}

Grads rows_backward(const Tensor& x, const Tensor& weight, const Tensor& dy, const Measures& measures,
                    const NormSetting& setting, bool want_weight, bool want_bias) {
  const std::int64_t width = x.shape().back();
  const std::int64_t rows = x.numel() / width;
  Grads grads;
  grads.x = empty_like(x);
  const Tensor w = weight.defined() ? contiguous(weight) : Tensor();
  // Each part of the rows has sums of its own, and the parts are added in their order.
  const bool sums = want_weight || want_bias;
  const std::int64_t least = std::max<std::int64_t>(1, kGrain / width);
  const std::int64_t per_part = sums ? std::max(least, (rows + kMaxParts - 1) / kMaxParts) : least;
  const std::int64_t parts = (rows + per_part - 1) / per_part;
  const Tensor weight_parts = want_weight ? empty({parts, width}, x.dtype()) : Tensor();
  const Tensor bias_parts = want_bias ? empty({parts, width}, x.dtype()) : Tensor();
  if (want_weight) grads.weight = empty({width}, x.dtype());
  if (want_bias) grads.bias = empty({width}, x.dtype());
  const HostRelease release(x.numel());
  with_type(x, setting, [&]<class T> {
    parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        const std::int64_t first = part * per_part;
        const std::int64_t count = std::min(per_part, rows - first);
        const auto zeroed = [&](const Tensor& all) -> T* {
          if (!all.defined()) return nullptr;
          T* const own = all.data<T>() + part * width;
          std::fill_n(own, width, T(0));
          return own;
        };
        kernels<T>().rows_backward(x.data<T>() + first * width, dy.data<T>() + first * width,
                                   w.defined() ? w.data<T>() : nullptr, measures.mean.data<T>() + first,
                                   measures.rstd.data<T>() + first, grads.x.data<T>() + first * width,
                                   zeroed(weight_parts), zeroed(bias_parts), count, width, setting.centered);
      }
    });
    const auto add_parts = [&](const Tensor& all, const Tensor& to) {
      if (!all.defined()) return;
      T* const out = to.data<T>();
      parallel_for(0, width, kColumnGrain, [&](std::int64_t begin, std::int64_t end) {
        std::copy(all.data<T>() + begin, all.data<T>() + end, out + begin);
        for (std::int64_t part = 1; part < parts; ++part) {
          const T* const row = all.data<T>() + part * width;
          for (std::int64_t i = begin; i < end; ++i) out[i] += row[i];
        }
      });
    };
    add_parts(weight_parts, grads.weight);
    add_parts(bias_parts, grads.bias);
  });
  return grads;
}

// ---- planes, by kernels

std::vector<double> zeros_of(std::int64_t count) { return std::vector<double>(static_cast<std::size_t>(count), 0.0); }
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Measures x, plane by plane: means, biased variances, and 1 / sqrt(variance + eps).
template <class T>
void measure_planes(const Tensor& x, const NormPlanes& planes, double eps, double* mean, double* variance,
                    double* rstd) {
  std::vector<double> plane_mean = zeros_of(planes.count);
  std::vector<double> plane_squares = zeros_of(planes.count);
  planes.for_each_part([&](std::int64_t first, std::int64_t last) {
    const cpu::MomentKernels<T>& moments = cpu::kernels_of<T>(cpu_kernels().moments);
    for (std::int64_t p = first; p < last; ++p)
      moments.row(x.data<T>() + p * planes.size, planes.size, &plane_mean[at(p)], &plane_squares[at(p)]);
  });
  std::fill_n(mean, planes.measures(), 0.0);
  std::fill_n(variance, planes.measures(), 0.0);
  const double elements = planes.elements();
  const double share = static_cast<double>(planes.size) / elements;
  planes.for_each(0, planes.count, [&](std::int64_t p, std::int64_t measure, std::int64_t) {
    mean[measure] += plane_mean[at(p)] * share;
  });
  planes.for_each(0, planes.count, [&](std::int64_t p, std::int64_t measure, std::int64_t) {
    const double distance = plane_mean[at(p)] - mean[measure];
    variance[measure] += plane_squares[at(p)] / elements + distance * distance * share;
  });
  for (std::int64_t i = 0; i < planes.measures(); ++i) rstd[i] = 1 / std::sqrt(variance[i] + eps);
}

Tensor planes_forward(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                      const NormSetting& setting, Measures& measures, BatchStatistics* statistics) {
  const NormPlanes planes(x, setting.over);
  const Tensor y = empty_like(x);
  const Dims shape{planes.measures()};
  measures = {empty(shape, DType::Float64), empty(shape, DType::Float64)};
  const Tensor variances = empty(shape, DType::Float64);
  const Tensor w = weight ? contiguous(*weight) : Tensor();
  const Tensor b = bias ? contiguous(*bias) : Tensor();
  {
    const HostRelease release(x.numel());
    with_type(x, setting, [&]<class T> {
      double* const means = measures.mean.data<double>();
      double* const rstds = measures.rstd.data<double>();
      double* const variance = variances.data<double>();
      const auto scale_planes = [&](std::int64_t first, std::int64_t last) {
        const std::int64_t n = last - first;
        std::vector<T> center(at(n));
        std::vector<T> scale(at(n));
        std::vector<T> shift(at(n));
        planes.for_each(first, last, [&](std::int64_t p, std::int64_t measure, std::int64_t channel) {
          const std::size_t k = at(p - first);
          const double mean = means[measure];
          const double factor = rstds[measure] * (w.defined() ? static_cast<double>(w.data<T>()[channel]) : 1.0);
          center[k] = static_cast<T>(mean);
          scale[k] = static_cast<T>(factor);
          const double rest = mean - static_cast<double>(center[k]);
          shift[k] = static_cast<T>((b.defined() ? static_cast<double>(b.data<T>()[channel]) : 0.0) - rest * factor);
        });
        kernels<T>().scale_shift(x.data<T>() + first * planes.size, center.data(), scale.data(), shift.data(),
                                 y.data<T>() + first * planes.size, n, planes.size);
      };
      const bool rows = planes.are_rows();
      if (rows) {
        // The planes of a mean are scaled while they are in the caches.
        const cpu::MomentKernels<T>& moments = cpu::kernels_of<T>(cpu_kernels().moments);
        const std::int64_t width = planes.size * planes.members();
        const std::int64_t grain = std::max<std::int64_t>(1, kGrain / width);
        parallel_for(0, planes.measures(), grain, [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t i = first; i < last; ++i) {
            moments.row(x.data<T>() + i * width, width, &means[i], &variance[i]);
            variance[i] /= static_cast<double>(width);
            rstds[i] = 1 / std::sqrt(variance[i] + setting.eps);
            scale_planes(i * planes.members(), (i + 1) * planes.members());
          }
        });
      } else {
        measure_planes<T>(x, planes, setting.eps, means, variance, rstds);
      }
      const bool measured_again = std::is_same_v<T, double> && measure_widely(x, setting, means, variance, rstds);
      if (!rows || measured_again) planes.for_each_part(scale_planes);
    });
  }
  if (statistics) *statistics = {measures.mean, variances};
  return y;
}

/// Applies the formula of rows_backward(), with h = (x - mean) rstd and sums over all planes of a mean: dx = w rstd dy
/// - rstd mean(w dy) - h rstd mean(w dy h).
Grads planes_backward(const Tensor& x, const Tensor& weight, const Tensor& dy, const Measures& measures,
                      const NormSetting& setting, const Dims& shape, bool want_weight, bool want_bias) {
  const NormPlanes planes(x, setting.over);
  Grads grads;
  grads.x = empty_like(x);
  const Tensor w = weight.defined() ? contiguous(weight) : Tensor();
  if (want_weight) grads.weight = empty(shape, x.dtype());
  if (want_bias) grads.bias = empty(shape, x.dtype());
  const HostRelease release(x.numel());
  with_type(x, setting, [&]<class T> {
    const double* const means = measures.mean.data<double>();
    const double* const rstds = measures.rstd.data<double>();
    const auto weight_of = [&](std::int64_t channel) {
      return w.defined() ? static_cast<double>(w.data<T>()[channel]) : 1.0;
    };
    std::vector<double> sum = zeros_of(planes.count);
    std::vector<double> dot = zeros_of(planes.count);
    planes.for_each_part([&](std::int64_t first, std::int64_t last) {
      std::vector<double> center(at(last - first));
      std::vector<double> deviation(at(last - first));
      planes.for_each(first, last, [&](std::int64_t p, std::int64_t measure, std::int64_t) {
        center[at(p - first)] = means[measure];
        deviation[at(p - first)] = rstds[measure];
      });
      kernels<T>().dots(x.data<T>() + first * planes.size, dy.data<T>() + first * planes.size, center.data(),
                        deviation.data(), sum.data() + first, dot.data() + first, last - first, planes.size);
    });
    std::vector<double> g_mean = zeros_of(planes.measures());
    std::vector<double> gh_mean = zeros_of(planes.measures());
    std::vector<double> dw = zeros_of(planes.channels);
    std::vector<double> db = zeros_of(planes.channels);
    planes.for_each(0, planes.count, [&](std::int64_t p, std::int64_t measure, std::int64_t channel) {
      const double share = weight_of(channel) / planes.elements();
      g_mean[at(measure)] += share * sum[at(p)];
      gh_mean[at(measure)] += share * dot[at(p)];
      dw[at(channel)] += dot[at(p)];
      db[at(channel)] += sum[at(p)];
    });
    for (std::int64_t c = 0; c < planes.channels; ++c) {
      if (want_weight) grads.weight.data<T>()[c] = static_cast<T>(dw[at(c)]);
      if (want_bias) grads.bias.data<T>()[c] = static_cast<T>(db[at(c)]);
    }
    planes.for_each_part([&](std::int64_t first, std::int64_t last) {
      const std::int64_t n = last - first;
      std::vector<T> center(at(n));
      std::vector<T> scale(at(n));
      std::vector<T> by_dy(at(n));
      std::vector<T> by_h(at(n));
      std::vector<T> constant(at(n));
      planes.for_each(first, last, [&](std::int64_t p, std::int64_t measure, std::int64_t channel) {
        const std::size_t k = at(p - first);
        const double rstd = rstds[measure];
        const double slope = -rstd * gh_mean[at(measure)];
        center[k] = static_cast<T>(means[measure]);
        scale[k] = static_cast<T>(rstd);
        by_dy[k] = static_cast<T>(rstd * weight_of(channel));
        by_h[k] = static_cast<T>(slope);
        const double rest = means[measure] - static_cast<double>(center[k]);
        constant[k] = static_cast<T>(-rstd * g_mean[at(measure)] - slope * (rstd * rest));
      });
      const std::int64_t offset = first * planes.size;
      kernels<T>().combine(x.data<T>() + offset, center.data(), scale.data(), dy.data<T>() + offset, by_dy.data(),
                           by_h.data(), constant.data(), grads.x.data<T>() + offset, n, planes.size);
    });
  });
  return grads;
}

// ---- recorded

struct NormMemory {
  NormSetting setting;
  /// Undefined if forward was composed of operators.
  Measures measures;
  bool has_weight = false;
  Dims bias_shape;
};

/// True if the planes of a batch have few elements each: those of all channels are adjacent and are processed as
/// columns.
bool has_small_planes(const Tensor& x, NormOver over) {
  return over == NormOver::Batch && x.size(3) < kSmallPlane && x.size(0) > 1;
}

/// True if x is on a device with a kernel for rows, and is to be normalized by rows.
bool takes_rows(const Tensor& x, const NormSetting& setting) {
  return setting.over == NormOver::Rows && !x.device().is_cpu() &&
         has_device_kernel<&DeviceKernels::normalize_rows>(x.device());
}

constexpr std::int64_t kMostElements = std::int64_t{1} << 31;  // of a mean, for kernels of devices

/// True if x is on a device with a kernel for groups, and is to be normalized by groups.
bool takes_groups(const Tensor& x, const NormSetting& setting) {
  return setting.over == NormOver::Groups && !x.device().is_cpu() && x.size(2) * x.size(3) < kMostElements &&
         has_device_kernel<&DeviceKernels::normalize_rows>(x.device());
}

/// True if x is on a device with a kernel for channels, and is to be normalized by channels.
bool takes_batch(const Tensor& x, const NormSetting& setting) {
  return setting.over == NormOver::Batch && !x.device().is_cpu() && x.size(0) * x.size(3) < kMostElements &&
         has_device_kernel<&DeviceKernels::normalize_batch>(x.device());
}

struct NormLayer : OperatorLayer<NormLayer> {
  static std::string name_of(const Context& ctx) { return static_cast<const char*>(ctx.tag); }

  static Tensor forward(Context& ctx, const Tensor& given, const std::optional<Tensor>& weight,
                        const std::optional<Tensor>& bias, const NormSetting& setting, BatchStatistics* statistics) {
    ctx.tag = setting.op;
    const Tensor x = is_batched(given) ? given : contiguous(given);
    Measures measures;
    const Tensor y = compute(x, weight, bias, setting, measures, statistics);
    if (ctx.recording()) {
      if (weight) {
        ctx.save_for_backward(given, *weight);
      } else {
        ctx.save_for_backward(given);
      }
      ctx.state<NormMemory>() = {setting, measures, weight.has_value(), bias ? bias->shape() : Dims()};
    }
    return y;
  }

  static TensorList backward(Context& ctx, const Tensor& dy) {
    const NormMemory& memory = ctx.state<NormMemory>();
    const TensorList saved = ctx.saved_tensors();
    const Tensor& x = saved[0];
    const Tensor weight = memory.has_weight ? saved[1] : Tensor();
    const auto& edges = ctx.node()->edges();
    const std::size_t bias_at = memory.has_weight ? 2 : 1;
    const bool want_x = autograd::is_needed(edges[0]);
    const bool want_weight = memory.has_weight && autograd::is_needed(edges[1]);
    const bool want_bias = edges.size() > bias_at && autograd::is_needed(edges[bias_at]);
    const Tensor operands[] = {x, weight, dy};
    const bool fused = memory.measures.rstd.defined() && want_x && !autograd::is_grad_enabled() &&
                       !autograd::any_dual(operands) && !is_batched(dy) && !is_batched(x);
    Grads grads;
    if (!fused) {
      grads = composed_grads(x, weight, memory.bias_shape, dy, memory.setting, want_x, want_weight, want_bias);
    } else if (memory.setting.over == NormOver::Rows || takes_groups(x, memory.setting)) {
      const auto kernel = x.device().is_cpu()
                              ? rows_backward
                              : device_kernel<&DeviceKernels::normalize_rows_gradient>(x.device(), memory.setting.op);
      grads = kernel(contiguous(x), weight.defined() ? contiguous(weight) : weight, contiguous(dy), memory.measures,
                     memory.setting, want_weight, want_bias);
    } else {
      const Dims& shape = memory.has_weight ? weight.shape() : memory.bias_shape;
      const auto backward_of =
          !x.device().is_cpu() ? device_kernel<&DeviceKernels::normalize_batch_gradient>(x.device(), memory.setting.op)
          : has_small_planes(x, memory.setting.over) ? normalize_columns_backward
                                                     : planes_backward;
      grads = backward_of(contiguous(x), weight.defined() ? contiguous(weight) : weight, contiguous(dy),
                          memory.measures, memory.setting, shape, want_weight, want_bias);
    }
    TensorList list(edges.size());
    list[0] = grads.x;
    if (memory.has_weight) list[1] = grads.weight;
    if (edges.size() > bias_at) list[bias_at] = grads.bias;
    return list;
  }

 private:
  static Tensor compute(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                        const NormSetting& setting, Measures& measures, BatchStatistics* statistics) {
    const bool weights_batched = (weight && is_batched(*weight)) || (bias && is_batched(*bias));
    const bool rows = setting.over == NormOver::Rows;
    const bool on_device = x.numel() > 0 && !weights_batched && !is_batched(x);
    const auto packed = [](const std::optional<Tensor>& w) { return w ? contiguous(*w) : Tensor(); };
    if (on_device && takes_batch(x, setting)) {
      const auto kernel = device_kernel<&DeviceKernels::normalize_batch>(x.device(), setting.op);
      return kernel(x, packed(weight), packed(bias), setting, measures, statistics);
    }
    if (on_device && (takes_rows(x, setting) || takes_groups(x, setting))) {
      const auto kernel = device_kernel<&DeviceKernels::normalize_rows>(x.device(), setting.op);
      return kernel(x, packed(weight), packed(bias), setting, measures);
    }
    if (!x.device().is_cpu() || x.numel() == 0 || weights_batched || (is_batched(x) && !rows))
      return composed(x, weight, bias, setting, statistics);
    if (is_batched(x)) {
      // Computes the rows of all examples at once; their gradients are composed of operators.
      const HiddenAxes& axes = *x->hidden;
      Measures unused;
      return hide_in_place(rows_forward(contiguous(physical(x, axes)), weight, bias, setting, unused), axes);
    }
    if (has_small_planes(x, setting.over)) return normalize_columns(x, weight, bias, setting, measures, statistics);
    return rows ? rows_forward(x, weight, bias, setting, measures)
                : planes_forward(x, weight, bias, setting, measures, statistics);
  }
};

struct ScaleShiftLayer : OperatorLayer<ScaleShiftLayer> {
  static constexpr std::string_view name = "scale_and_shift";

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& scale, const Tensor& shift) {
    if (ctx.recording()) ctx.save_for_backward(x, scale, shift);
    if (is_batched(x) || is_batched(scale) || is_batched(shift) || !x.device().is_cpu() || x.numel() == 0)
      return x * scale + shift;
    const Tensor values = contiguous(x);
    const Tensor y = empty_like(values);
    const std::int64_t channels = x.size(1);
    const std::int64_t size = x.size(2);
    const HostRelease release(x.numel());
    visit<DTypeSet{DType::Float32, DType::Float64}>(x.dtype(), name, [&]<class T> {
      const Tensor a = contiguous(scale);
      const Tensor c = contiguous(shift);
      const T origin = 0;
      parallel_for(0, x.size(0) * channels, std::max<std::int64_t>(1, kGrain / size),
                   [&](std::int64_t first, std::int64_t last) {
                     for (std::int64_t plane = first; plane < last; ++plane) {
                       const std::int64_t channel = plane % channels;
                       kernels<T>().scale_shift(values.data<T>() + plane * size, &origin, a.data<T>() + channel,
                                                c.data<T>() + channel, y.data<T>() + plane * size, 1, size);
                     }
                   });
    });
    return y;
  }
  static std::array<Tensor, 3> backward(Context& ctx, const Tensor& dy) {
    const auto [x, scale, shift] = ctx.saved_tensors<3>();
    const auto& edges = ctx.node()->edges();
    std::array<Tensor, 3> grads;
    if (autograd::is_needed(edges[0])) grads[0] = dy * scale;
    if (autograd::is_needed(edges[1])) grads[1] = sum_to(dy * x, scale.shape());
    if (autograd::is_needed(edges[2])) grads[2] = sum_to(dy, shift.shape());
    return grads;
  }
};

}  // namespace

Tensor normalize(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                 const NormSetting& setting, BatchStatistics* statistics) {
  return NormLayer::apply(x, weight, bias, setting, statistics);
}

Tensor scale_and_shift(const Tensor& x, const Tensor& scale, const Tensor& shift) {
  return ScaleShiftLayer::apply(x, scale, shift);
}

}  // namespace lamella
