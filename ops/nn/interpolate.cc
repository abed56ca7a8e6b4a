#include "ops/nn/interpolate.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/arrange/dynamic.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/rounding.h"
#include "ops/extension/extension.h"
#include "ops/index/take.h"
#include "ops/movement/integers.h"
#include "ops/nn/precision.h"
#include "ops/nn/resample.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 24;  // elements along an axis

/// A rule, with a table of the elements and the weights of its taps for the CPU.
struct Plan {
  ResampleRule rule;
  std::vector<std::int64_t> index;
  std::vector<double> weight;
  /// If not 0, element o of the result is element o / repeats of x.
  std::int64_t repeats = 0;

  Plan(const ResampleRule& given, bool table) : rule(given) {
    if (rule.how >= Resampling::Area) {
      for (std::int64_t o = 0; o < rule.out; ++o) rule.taps = std::max(rule.taps, rule.last(o) - rule.first(o));
    }
    if (!table) return;
    index.reserve(static_cast<std::size_t>(rule.out * rule.taps));
    weight.reserve(index.capacity());
    for (std::int64_t o = 0; o < rule.out; ++o) {
      rule.for_each_tap(o, [&](std::int64_t, std::int64_t source, double share) {
        index.push_back(source);
        weight.push_back(share);
      });
    }
    if (rule.taps != 1 || rule.in < 1 || rule.out % rule.in != 0) return;
    const std::int64_t factor = rule.out / rule.in;
    for (std::int64_t o = 0; o < rule.out; ++o) {
      if (index[static_cast<std::size_t>(o)] != o / factor || weight[static_cast<std::size_t>(o)] != 1) return;
    }
    repeats = factor;
  }
};

using PlanPtr = std::shared_ptr<const Plan>;

ResampleRule make_rule(Resampling how, std::int64_t in, std::int64_t out, std::optional<double> factor,
                       bool align_corners) {
  ResampleRule rule{.how = how, .in = in, .out = out, .align_corners = align_corners};
  rule.taps = how == Resampling::Linear ? 2 : how == Resampling::Cubic ? 4 : 1;
  if (align_corners) {
    rule.ratio = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  } else {
    rule.ratio = factor ? 1 / *factor : static_cast<double>(in) / static_cast<double>(out);
  }
  return rule;
}

/// `axis` counts from the end, starting with 1, because hidden axes are in front.
Tensor run(const Tensor& given, const Plan& plan, std::size_t axis, bool transposed) {
  if (is_batched(given)) [[unlikely]]
    return over_examples([&](const Tensor& shown) { return run(shown, plan, axis, transposed); }, given);
  const Tensor x = contiguous(given);
  const std::size_t at = x.ndim() - axis;
  Dims shape = x.shape();
  shape[at] = transposed ? plan.rule.in : plan.rule.out;
  Tensor y = empty(shape, x.dtype(), x.device());
  if (y.device().is_meta() || y.numel() == 0) return y;
  if (!y.device().is_cpu()) {
    if (!has_device_kernel<&DeviceKernels::resample>(y.device())) {
      const auto run_there = [&](const Tensor& host) { return run(host, plan, axis, transposed); };
      return on_host("interpolate", y.device(), run_there, x);
    }
    device_kernel<&DeviceKernels::resample>(y.device(), "interpolate")(plan.rule, x, y, at, transposed);
    return y;
  }
  const std::int64_t outer = count_elements(DimsView(shape).first(at));
  const std::int64_t inner = count_elements(DimsView(shape).subspan(at + 1));
  const HostRelease release(x.numel() + y.numel());
  const auto launch = [&]<class T>(const cpu::ResampleKernels<T>& kernels, T) {
    const std::vector<T> weight(plan.weight.begin(), plan.weight.end());
    const T* from = x.data<T>();
    T* to = y.data<T>();
    parallel_for(0, outer, std::max<std::int64_t>(1, kElementGrain / (plan.rule.out * plan.rule.taps * inner)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const cpu::ResampleArgs<T> args{.from = from + i * x.shape()[at] * inner,
                                                     .to = to + i * shape[at] * inner,
                                                     .index = plan.index.data(),
                                                     .weight = weight.data(),
                                                     .taps = plan.rule.taps,
                                                     .out = plan.rule.out,
                                                     .in = plan.rule.in,
                                                     .inner = inner,
                                                     .repeats = plan.repeats};
                     (transposed ? kernels.scatter : kernels.gather)(args);
                   }
                 });
  };
  const cpu::InterpolateTable& table = cpu_kernels().interpolate;
  x.dtype() == DType::Float32 ? launch(table.float32, float()) : launch(table.float64, double());
  return y;
}

/// Resampling in both directions; each is the other's transpose.
struct ResampleFn : LinearOperatorLayer<ResampleFn> {
  static constexpr const char* name = "interpolate";

  static Tensor forward(Context& ctx, const Tensor& x, const PlanPtr& plan, std::size_t axis, bool transposed) {
    if (ctx.recording()) ctx.state<State>() = {plan, axis, transposed};
    return run(x, *plan, axis, transposed);
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const State& state = ctx.state<State>();
    return {ResampleFn::apply(dy, state.plan, state.axis, !state.transposed)};
  }

 private:
  struct State {
    PlanPtr plan;
    std::size_t axis = 0;
    bool transposed = false;
  };
};

Resampling read_mode(std::string_view mode, std::size_t axes) {
  if (mode == "nearest") return Resampling::Nearest;
  if (mode == "nearest-exact") return Resampling::NearestExact;
  if (mode == "area") return Resampling::Area;
  const struct {
    std::string_view name;
    std::size_t axes;
    Resampling how;
  } kModes[] = {{"linear", 1, Resampling::Linear},
                {"bilinear", 2, Resampling::Linear},
                {"trilinear", 3, Resampling::Linear},
                {"bicubic", 2, Resampling::Cubic}};
  for (const auto& known : kModes) {
    if (known.name != mode) continue;
    if (known.axes == axes) return known.how;
    fail<ValueError>("[interpolate] mode \"", mode, "\" takes an x with ", known.axes + 2, " axes, got ", axes + 2);
  }
  fail<ValueError>(
      "[interpolate] mode must be \"nearest\", \"nearest-exact\", \"linear\", \"bilinear\", \"bicubic\", \"trilinear\" "
      "or \"area\", got \"",
      mode, "\"");
}

/// Returns the number for one axis from a list of one number per axis, or of one for all.
template <class List>
auto for_axis(const List& given, std::size_t axis, std::size_t axes, const char* what) {
  if (given.size() != 1 && given.size() != axes)
    fail<ValueError>("[interpolate] ", what, " must be one number, or one for each of ", axes, " axes; got ",
                     given.size());
  return given[given.size() == 1 ? 0 : axis];
}

}  // namespace

Tensor Interpolate::call(const Tensor& x, const std::optional<Dims>& size,
                         const std::optional<std::vector<double>>& scale_factor, std::string_view mode,
                         std::optional<bool> align, std::optional<bool> recompute_scale_factor, bool antialias) {
  const bool align_corners = align.value_or(false);
  check_defined(x, info.name);
  if (x.ndim() < 3 || x.ndim() > 5)
    fail<ValueError>("[interpolate] x must be [images, channels, ...] with 3 to 5 axes, got ", x.shape());
  if (size.has_value() == scale_factor.has_value())
    fail<ValueError>("[interpolate] give one of size and scale_factor, ", size ? "not both" : "got none");
  const std::size_t axes = x.ndim() - 2;
  Resampling how = read_mode(mode, axes);
  if (align_corners && how != Resampling::Linear && how != Resampling::Cubic)
    fail<ValueError>("[interpolate] align_corners goes with the linear and cubic modes, not with \"", mode, "\"");
  if (antialias && mode != "bilinear" && mode != "bicubic")
    fail<ValueError>("[interpolate] antialias goes with \"bilinear\" and \"bicubic\", not with \"", mode, "\"");
  if (recompute_scale_factor.value_or(false) && !scale_factor)
    fail<ValueError>("[interpolate] recompute_scale_factor goes with scale_factor, not with size");
  if (antialias) how = how == Resampling::Cubic ? Resampling::SmoothCubic : Resampling::SmoothLinear;
  const bool picks = how <= Resampling::NearestExact && !is_floating(x.dtype());
  if (!picks && is_wide_integer(x.dtype()))
    return call_in_floats<Interpolate>(x, size, scale_factor, mode, align, recompute_scale_factor, antialias);
  const bool table = picks || !has_device_kernel<&DeviceKernels::resample>(x.device());
  std::vector<PlanPtr> plans;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t in = x.shape()[i + 2];
    std::optional<double> factor;
    if (scale_factor) factor = for_axis(*scale_factor, i, axes, "scale_factor");
    const double wanted = factor ? std::floor(static_cast<double>(in) * *factor) : 0;
    if (factor && !(*factor > 0 && wanted <= kMostElements))
      fail<ValueError>("[interpolate] scale_factor must be above 0 and give a size of at most 2^24, got ", *factor);
    const std::int64_t out = size ? for_axis(*size, i, axes, "size") : static_cast<std::int64_t>(wanted);
    if (in < 1 || out < 1 || out > kMostElements)
      fail<ValueError>("[interpolate] sizes must be above 0 and at most ", kMostElements, ", got ", in, " to ", out,
                       " along axis ", i + 2);
    if (recompute_scale_factor.value_or(false)) factor.reset();
    plans.push_back(std::make_shared<const Plan>(make_rule(how, in, out, factor, align_corners), table));
  }
  if (picks) {
    Tensor y = x;
    for (std::size_t i = 0; i < axes; ++i) {
      const Tensor index = empty({plans[i]->rule.out}, DType::Int64);
      std::ranges::copy(plans[i]->index, index.data<std::int64_t>());
      y = take(y, to_device(index, x.device()), static_cast<std::int64_t>(i + 2));
    }
    return y;
  }
  const Tensor result = in_single_or_double(x, info.name, [&](const Tensor& values) {
    // Axes that shrink come first; those that grow follow from the last one on, because elements along the last axis
    // are picked one by one.
    Tensor y = values;
    for (std::size_t i = 0; i < axes; ++i) {
      if (plans[i]->rule.out < plans[i]->rule.in) y = ResampleFn::apply(y, plans[i], axes - i, false);
    }
    for (std::size_t i = axes; i-- > 0;) {
      if (plans[i]->rule.out >= plans[i]->rule.in) y = ResampleFn::apply(y, plans[i], axes - i, false);
    }
    return y;
  });
  // Byte images stay bytes, halves rounded up; the cast clamps cubic results that exceed the range.
  return x.dtype() == DType::UInt8 ? cast(floor(result + 0.5), DType::UInt8) : result;
}

Tensor DynamicInterpolate::call(const Tensor& x, const Tensor& size, std::string_view mode,
                                std::optional<bool> align_corners, bool antialias) {
  return Interpolate::call(x, sizes_in(size, info.name), std::nullopt, mode, align_corners, std::nullopt, antialias);
}

}  // namespace lamella
