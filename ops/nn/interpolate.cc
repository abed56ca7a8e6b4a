#include "ops/nn/interpolate.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/rounding.h"
#include "ops/extension/extension.h"
#include "ops/index/take.h"
#include "ops/movement/cast.h"
#include "ops/nn/precision.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 24;  // elements along an axis

/// Describes each element of the result along an axis as a weighted sum of `taps` elements.
struct Plan {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t taps = 0;
  std::vector<std::int64_t> index;
  std::vector<double> weight;

  Plan(std::int64_t in, std::int64_t out, std::int64_t taps)
      : in(in),
        out(out),
        taps(taps),
        index(static_cast<std::size_t>(out * taps)),
        weight(static_cast<std::size_t>(out * taps)) {}

  void set(std::int64_t o, std::int64_t k, std::int64_t source, double w) {
    const auto at = static_cast<std::size_t>(o * taps + k);
    index[at] = std::clamp<std::int64_t>(source, 0, in - 1);
    weight[at] = w;
  }
};

using PlanPtr = std::shared_ptr<const Plan>;

/// The scale of an axis: elements of the source per element of the result.
struct Scale {
  double ratio;
  bool align_corners;

  Scale(std::int64_t in, std::int64_t out, std::optional<double> factor, bool align) : align_corners(align) {
    if (align) {
      ratio = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
    } else {
      ratio = factor ? 1 / *factor : static_cast<double>(in) / static_cast<double>(out);
    }
  }
  double source(std::int64_t o) const {
    return align_corners ? static_cast<double>(o) * ratio : (static_cast<double>(o) + 0.5) * ratio - 0.5;
  }
};

/// Computed in single precision like other libraries, so that the same element is the nearest.
Plan plan_nearest(std::int64_t in, std::int64_t out, const Scale& scale, bool exact) {
  Plan plan(in, out, 1);
  const auto ratio = static_cast<float>(scale.ratio);
  for (std::int64_t o = 0; o < out; ++o) {
    const float at = (static_cast<float>(o) + (exact ? 0.5f : 0.0f)) * ratio;
    plan.set(o, 0, static_cast<std::int64_t>(std::floor(at)), 1.0);
  }
  return plan;
}

Plan plan_linear(std::int64_t in, std::int64_t out, const Scale& scale) {
  Plan plan(in, out, 2);
  for (std::int64_t o = 0; o < out; ++o) {
    const double at = std::max(0.0, scale.source(o));
    const auto left = std::min(static_cast<std::int64_t>(at), in - 1);
    const double share = left + 1 < in ? at - static_cast<double>(left) : 0;
    plan.set(o, 0, left, 1 - share);
    plan.set(o, 1, left + 1, share);
  }
  return plan;
}

Plan plan_cubic(std::int64_t in, std::int64_t out, const Scale& scale) {
  constexpr double kA = -0.75;
  const auto near = [](double t) { return ((kA + 2) * t - (kA + 3)) * t * t + 1; };
  const auto far = [](double t) { return ((kA * t - 5 * kA) * t + 8 * kA) * t - 4 * kA; };
  Plan plan(in, out, 4);
  for (std::int64_t o = 0; o < out; ++o) {
    const double at = scale.source(o);
    const double left = std::floor(at);
    const double t = at - left;
    const double weights[] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
    for (std::int64_t k = 0; k < 4; ++k) plan.set(o, k, static_cast<std::int64_t>(left) - 1 + k, weights[k]);
  }
  return plan;
}

/// Weights of a filter of half-width `reach`, centered at each element of the result and widened if the result is
/// smaller; they sum to 1.
template <class Filter>
Plan plan_filtered(std::int64_t in, std::int64_t out, const Scale& scale, double reach, Filter&& filter) {
  const double widening = std::max(1.0, scale.ratio);
  const double support = reach * widening;
  const auto center = [&](std::int64_t o) { return scale.ratio * (static_cast<double>(o) + 0.5); };
  const auto first = [&](std::int64_t o) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(center(o) - support + 0.5)), 0, in - 1);
  };
  const auto last = [&](std::int64_t o) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(center(o) + support + 0.5)), first(o) + 1, in);
  };
  std::int64_t taps = 1;
  for (std::int64_t o = 0; o < out; ++o) taps = std::max(taps, last(o) - first(o));
  Plan plan(in, out, taps);
  for (std::int64_t o = 0; o < out; ++o) {
    const auto weight = [&](std::int64_t i) { return filter((static_cast<double>(i) - center(o) + 0.5) / widening); };
    double total = 0;
    for (std::int64_t i = first(o); i < last(o); ++i) total += weight(i);
    for (std::int64_t k = 0; k < taps; ++k) {
      const std::int64_t i = first(o) + k;
      plan.set(o, k, i, i < last(o) && total != 0 ? weight(i) / total : 0);
    }
  }
  return plan;
}

Plan plan_antialiased(bool cubic, std::int64_t in, std::int64_t out, const Scale& scale) {
  if (!cubic) return plan_filtered(in, out, scale, 1, [](double t) { return std::max(0.0, 1 - std::abs(t)); });
  return plan_filtered(in, out, scale, 2, [](double signed_t) {
    constexpr double kA = -0.5;
    const double t = std::abs(signed_t);
    if (t < 1) return ((kA + 2) * t - (kA + 3)) * t * t + 1;
    return t < 2 ? ((kA * t - 5 * kA) * t + 8 * kA) * t - 4 * kA : 0;
  });
}

Plan plan_area(std::int64_t in, std::int64_t out) {
  const auto first = [&](std::int64_t o) { return o * in / out; };
  const auto last = [&](std::int64_t o) { return ((o + 1) * in + out - 1) / out; };
  std::int64_t taps = 1;
  for (std::int64_t o = 0; o < out; ++o) taps = std::max(taps, last(o) - first(o));
  Plan plan(in, out, taps);
  for (std::int64_t o = 0; o < out; ++o) {
    const std::int64_t count = last(o) - first(o);
    for (std::int64_t k = 0; k < taps; ++k)
      plan.set(o, k, first(o) + std::min(k, count - 1), k < count ? 1.0 / static_cast<double>(count) : 0);
  }
  return plan;
}

/// `axis` counts from the end, starting with 1, because hidden axes are in front.
Tensor run(const Tensor& given, const Plan& plan, std::size_t axis, bool transposed) {
  if (is_batched(given)) [[unlikely]]
    return over_examples([&](const Tensor& shown) { return run(shown, plan, axis, transposed); }, given);
  const Tensor x = contiguous(given);
  const std::size_t at = x.ndim() - axis;
  Dims shape = x.shape();
  shape[at] = transposed ? plan.in : plan.out;
  Tensor y = empty(shape, x.dtype(), x.device());
  if (y.device().is_meta() || y.numel() == 0) return y;
  if (!y.device().is_cpu()) {
    const auto run_there = [&](const Tensor& host) { return run(host, plan, axis, transposed); };
    return on_host("interpolate", y.device(), run_there, x);
  }
  const std::int64_t outer = count_elements(DimsView(shape).first(at));
  const std::int64_t inner = count_elements(DimsView(shape).subspan(at + 1));
  const HostRelease release(x.numel() + y.numel());
  const auto launch = [&]<class T>(const cpu::ResampleKernels<T>& kernels, T) {
    const std::vector<T> weight(plan.weight.begin(), plan.weight.end());
    const T* from = x.data<T>();
    T* to = y.data<T>();
    parallel_for(0, outer, std::max<std::int64_t>(1, kElementGrain / (plan.out * plan.taps * inner)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const cpu::ResampleArgs<T> args{.from = from + i * x.shape()[at] * inner,
                                                     .to = to + i * shape[at] * inner,
                                                     .index = plan.index.data(),
                                                     .weight = weight.data(),
                                                     .taps = plan.taps,
                                                     .out = plan.out,
                                                     .in = plan.in,
                                                     .inner = inner};
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

enum class Mode : std::uint8_t { Nearest, NearestExact, Linear, Cubic, Area };

Mode read_mode(std::string_view mode, std::size_t axes) {
  if (mode == "nearest") return Mode::Nearest;
  if (mode == "nearest-exact") return Mode::NearestExact;
  if (mode == "area") return Mode::Area;
  const struct {
    std::string_view name;
    std::size_t axes;
    Mode mode;
  } kModes[] = {{"linear", 1, Mode::Linear},
                {"bilinear", 2, Mode::Linear},
                {"trilinear", 3, Mode::Linear},
                {"bicubic", 2, Mode::Cubic}};
  for (const auto& known : kModes) {
    if (known.name != mode) continue;
    if (known.axes == axes) return known.mode;
    fail<ValueError>("[interpolate] mode \"", mode, "\" takes an x with ", known.axes + 2, " axes, got ", axes + 2);
  }
  fail<ValueError>(
      "[interpolate] mode must be \"nearest\", \"nearest-exact\", \"linear\", \"bilinear\", \"bicubic\", \"trilinear\" "
      "or \"area\", got \"",
      mode, "\"");
}

Plan make_plan(Mode mode, std::int64_t in, std::int64_t out, const Scale& scale) {
  switch (mode) {
    case Mode::Nearest:
    case Mode::NearestExact:
      return plan_nearest(in, out, scale, mode == Mode::NearestExact);
    case Mode::Linear:
      return plan_linear(in, out, scale);
    case Mode::Cubic:
      return plan_cubic(in, out, scale);
    case Mode::Area:
      break;
  }
  return plan_area(in, out);
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
  const Mode how = read_mode(mode, axes);
  if (align_corners && how != Mode::Linear && how != Mode::Cubic)
    fail<ValueError>("[interpolate] align_corners goes with the linear and cubic modes, not with \"", mode, "\"");
  if (antialias && mode != "bilinear" && mode != "bicubic")
    fail<ValueError>("[interpolate] antialias goes with \"bilinear\" and \"bicubic\", not with \"", mode, "\"");
  if (recompute_scale_factor.value_or(false) && !scale_factor)
    fail<ValueError>("[interpolate] recompute_scale_factor goes with scale_factor, not with size");
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
    const Scale scale(in, out, factor, align_corners);
    plans.push_back(std::make_shared<const Plan>(antialias ? plan_antialiased(how == Mode::Cubic, in, out, scale)
                                                           : make_plan(how, in, out, scale)));
  }
  if (how <= Mode::NearestExact && !is_floating(x.dtype())) {
    Tensor y = x;
    for (std::size_t i = 0; i < axes; ++i) {
      const Tensor index = empty({plans[i]->out}, DType::Int64);
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
      if (plans[i]->out < plans[i]->in) y = ResampleFn::apply(y, plans[i], axes - i, false);
    }
    for (std::size_t i = axes; i-- > 0;) {
      if (plans[i]->out >= plans[i]->in) y = ResampleFn::apply(y, plans[i], axes - i, false);
    }
    return y;
  });
  // Byte images stay bytes, halves rounded up; the cast clamps cubic results that exceed the range.
  return x.dtype() == DType::UInt8 ? cast(floor(result + 0.5), DType::UInt8) : result;
}

}  // namespace lamella
