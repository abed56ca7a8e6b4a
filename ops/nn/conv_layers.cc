#include "ops/nn/conv_layers.h"

#include <algorithm>
#include <utility>

#include "engine/autograd/graph/running_pass.h"
#include "engine/core/host.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/nn/conv_problem.h"
#include "ops/nn/spatial.h"
#include "ops/reduce/sum.h"
#include "ops/runtime/onednn.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/hide.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

using detail::ConvProblem;
using detail::ConvResult;

Dims shape_of(std::int64_t first, std::int64_t second, const Dims& spatial) {
  Dims shape{first, second};
  for (const std::int64_t size : spatial) shape.push_back(size);
  return shape;
}

/// Reshapes the bias [o] so that it broadcasts to [n, o, out..].
Tensor along_channels(const Tensor& bias, std::size_t axes) {
  Dims shape(axes + 1, 1);
  shape[0] = bias.shape()[0];
  return reshape(bias, shape);
}

// ---- neither batched nor recorded

void run(const ConvProblem& problem, const char* op, const Tensor& result, Tensor a, Tensor b,
         const std::optional<Tensor>& bias);

/// Computes in a wider dtype, for dtypes without a kernel. Integers wrap around with the same result.
void run_in(DType dtype, const ConvProblem& problem, const char* op, const Tensor& result, const Tensor& a,
            const Tensor& b, const std::optional<Tensor>& bias) {
  ConvProblem wide = problem;
  wide.dtype = dtype;
  const Tensor target = empty(result.shape(), dtype, result.device());
  std::optional<Tensor> wide_bias;
  if (bias) wide_bias = cast(*bias, dtype);
  run(wide, op, target, cast(a, dtype), cast(b, dtype), wide_bias);
  write_values(result, target, op);
}

/// Computes `result` from the two other tensors, in the order x, w, y.
void run(const ConvProblem& given, const char* op, const Tensor& result, Tensor a, Tensor b,
         const std::optional<Tensor>& bias) {
  if (result.device().is_meta() || result.numel() == 0) return;
  const bool on_cpu = result.device().is_cpu();
  if (!on_cpu && !has_device_kernel<&DeviceKernels::convolve>(result.device())) {
    require_fallback(op, result.device());
    const Tensor host = empty(result.shape(), result.dtype());
    run(given, op, host, moved(a, kCPU), moved(b, kCPU), bias ? std::optional(moved(*bias, kCPU)) : std::nullopt);
    return write_values(result, host, op);
  }
  if (a.numel() == 0 || b.numel() == 0) {
    write_value(result, 0, op);
    if (bias) write_values(result, broadcast_to(along_channels(*bias, given.in.size()), result.shape()), op);
    return;
  }
  a = contiguous(a);
  b = contiguous(b);
  const Tensor added = bias ? contiguous(*bias) : Tensor();
  const Tensor& x = given.result == ConvResult::Input ? result : a;
  const Tensor& w = given.result == ConvResult::Weight ? result : given.result == ConvResult::Input ? a : b;
  const Tensor& y = given.result == ConvResult::Output ? result : b;
  if (Integral.contains(given.dtype) && given.dtype != DType::UInt64)
    return run_in(DType::UInt64, given, op, result, a, b, bias);
  if (!on_cpu) return device_kernel<&DeviceKernels::convolve>(result.device(), op)(given, x, w, y, added, op);
  ConvProblem problem = given;
  problem.bias = bias ? added.raw_data() : nullptr;
  problem.x = x.raw_data();
  problem.w = w.raw_data();
  problem.y = y.raw_data();
  const HostRelease release(a.numel() + b.numel() + result.numel());
  if (detail::is_pointwise(problem)) return detail::pointwise_conv(problem, x, w, y, op);
  if (problem.dtype == DType::Float32 || problem.dtype == DType::BFloat16) {
    if (const detail::Onednn* const library = detail::onednn(); library && library->conv(problem)) return;
  }
  if (detail::kColumnsDTypes.contains(problem.dtype)) return detail::columns_conv(problem);
  run_in(DType::Float32, given, op, result, a, b, bias);
}

ConvProblem describe(ConvResult result, const ConvSetting& setting, DType dtype, DimsView x, DimsView w, DimsView y) {
  ConvProblem problem;
  problem.result = result;
  problem.dtype = dtype;
  problem.n = x[0];
  problem.c = x[1];
  problem.o = w[0];
  problem.groups = setting.groups;
  problem.in = Dims(x.begin() + 2, x.end());
  problem.kernel = Dims(w.begin() + 2, w.end());
  problem.out = Dims(y.begin() + 2, y.end());
  problem.stride = setting.stride;
  problem.dilation = setting.dilation;
  problem.pad_low = setting.pad_low;
  problem.pad_high = setting.pad_high;
  return problem;
}

Tensor plain_output(const Tensor& x, const Tensor& w, const std::optional<Tensor>& bias, const ConvSetting& setting) {
  const Dims out = conv_sizes(spatial_sizes(x), spatial_sizes(w), setting);
  const Tensor y = empty(shape_of(x.shape()[0], w.shape()[0], out), x.dtype(), x.device());
  run(describe(ConvResult::Output, setting, x.dtype(), x.shape(), w.shape(), y.shape()), setting.op, y, x, w, bias);
  return y;
}

Tensor plain_input(const Tensor& y, const Tensor& w, const ConvSetting& setting, const Dims& in) {
  const Tensor x = empty(shape_of(y.shape()[0], w.shape()[1] * setting.groups, in), y.dtype(), y.device());
  run(describe(ConvResult::Input, setting, y.dtype(), x.shape(), w.shape(), y.shape()), setting.op, x, w, y, {});
  return x;
}

Tensor weight_in_one(const Tensor& x, const Tensor& y, const ConvSetting& setting, const Dims& kernel) {
  const Tensor w = empty(shape_of(y.shape()[1], x.shape()[1] / setting.groups, kernel), x.dtype(), x.device());
  run(describe(ConvResult::Weight, setting, x.dtype(), x.shape(), w.shape(), y.shape()), setting.op, w, x, y, {});
  return w;
}

/// Number of outputs of a channel over which the kernels may add products one after the other. A float32 that ones are
/// added to stops growing at 2^24, one that 1.3 is added to is 2 % off after 2^22.
constexpr std::int64_t kLongestSum = std::int64_t{1} << 18;

/// Returns the part of a convolution that computes `count` outputs from `start` on along a spatial axis: the inputs
/// that they read, and the setting with what these outputs still read outside of x.
std::pair<Tensor, ConvSetting> inputs_of(const Tensor& x, const ConvSetting& setting, const Dims& kernel,
                                         std::size_t axis, std::int64_t start, std::int64_t count) {
  const auto along = static_cast<std::int64_t>(axis) + 2;
  const std::int64_t size = x.shape()[axis + 2];
  const std::int64_t reach = setting.dilation[axis] * (kernel[axis] - 1) + 1;
  const std::int64_t first = start * setting.stride[axis] - setting.pad_low[axis];
  const std::int64_t last = first + (count - 1) * setting.stride[axis] + reach;
  const std::int64_t begin = std::clamp<std::int64_t>(first, 0, size);
  const std::int64_t end = std::clamp<std::int64_t>(last, begin, size);
  ConvSetting part = setting;
  part.pad_low[axis] = begin - first;
  part.pad_high[axis] = last - end;
  return {narrow(x, along, begin, end - begin), part};
}

/// Number of products that are added to each element of the weight's gradient.
std::int64_t addends_of(const Tensor& y) { return y.numel() / std::max<std::int64_t>(1, y.shape()[1]); }

/// Computes the transpose with respect to the weight, in float32, by halves whose sums are added.
Tensor weight_in_halves(const Tensor& x, const Tensor& y, const ConvSetting& setting, const Dims& kernel) {
  if (addends_of(y) <= kLongestSum) return cast(weight_in_one(x, y, setting, kernel), DType::Float32);
  const bool by_examples = y.shape()[0] > 1;
  const auto axis = std::ranges::max_element(y.shape().begin() + 2, y.shape().end()) - y.shape().begin();
  const auto part = [&](std::int64_t start, std::int64_t count) {
    if (by_examples) return weight_in_halves(narrow(x, 0, start, count), narrow(y, 0, start, count), setting, kernel);
    const auto [inputs, read] = inputs_of(x, setting, kernel, static_cast<std::size_t>(axis - 2), start, count);
    return weight_in_halves(inputs, narrow(y, axis, start, count), read, kernel);
  };
  const std::int64_t size = y.shape()[by_examples ? 0 : static_cast<std::size_t>(axis)];
  return add(part(0, size / 2), part(size / 2, size - size / 2));
}

/// Computes the transpose with respect to the weight, a sum over all examples and outputs.
Tensor plain_weight(const Tensor& x, const Tensor& y, const ConvSetting& setting, const Dims& kernel) {
  const bool rounds = x.dtype() == DType::Float32 || is_half(x.dtype());
  if (addends_of(y) <= kLongestSum || !rounds || !x.device().is_cpu()) return weight_in_one(x, y, setting, kernel);
  return cast(weight_in_halves(x, y, setting, kernel), x.dtype());
}

// ---- batched: hidden axes become examples, channels or groups

/// The hidden axes of two tensors, to be merged into other axes.
class Folding {
 public:
  Folding(const Tensor& a, const Tensor& b) : axes_(hidden_axes(pointers(a, b))) {
    for (const HiddenAxis& axis : axes_) count_ *= axis.size;
  }

  std::int64_t count() const noexcept { return count_; }

  /// Returns x with the hidden axes, repeated if it lacks one, merged into axis `at`, in front.
  Tensor folded(const Tensor& x, std::size_t at) const {
    const Tensor whole = physical(x, axes_, 0, MissingAxis::Repeated);
    const std::size_t hidden = axes_.size();
    Dims shape;
    Dims strides;
    const auto take = [&](std::size_t i) {
      shape.push_back(whole.shape()[i]);
      strides.push_back(whole.strides()[i]);
    };
    for (std::size_t i = 0; i < at; ++i) take(hidden + i);
    for (std::size_t i = 0; i < hidden; ++i) take(i);
    for (std::size_t i = at; i < x.ndim(); ++i) take(hidden + i);
    Dims joined = x.shape();
    joined[at] *= count_;
    return reshape(make_view(whole, shape, strides), joined);
  }
  /// Returns y, contiguous, with the hidden axes split off axis `at` and hidden.
  Tensor unfolded(const Tensor& y, std::size_t at) const {
    const Dims& strides = y.strides();
    Dims sizes = y.shape();
    sizes[at] /= std::max<std::int64_t>(1, count_);
    Dims shape;
    Dims steps;
    std::int64_t step = strides[at] * sizes[at] * count_;
    for (const HiddenAxis& axis : axes_) {
      step /= std::max<std::int64_t>(1, axis.size);
      shape.push_back(axis.size);
      steps.push_back(step);
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      shape.push_back(sizes[i]);
      steps.push_back(strides[i]);
    }
    return hide_in_place(make_view(y, shape, steps), axes_);
  }
  ConvSetting grouped(const ConvSetting& setting) const {
    ConvSetting result = setting;
    result.groups *= count_;
    return result;
  }

 private:
  HiddenAxes axes_;
  std::int64_t count_ = 1;
};

Tensor batched_output(const Tensor& x, const Tensor& w, const ConvSetting& setting) {
  const Folding folding(x, w);
  if (!is_batched(w)) return folding.unfolded(plain_output(folding.folded(x, 0), w, {}, setting), 0);
  if (!is_batched(x) && setting.groups == 1)
    return folding.unfolded(plain_output(x, folding.folded(w, 0), {}, setting), 1);
  return folding.unfolded(plain_output(folding.folded(x, 1), folding.folded(w, 0), {}, folding.grouped(setting)), 1);
}

Tensor batched_input(const Tensor& y, const Tensor& w, const ConvSetting& setting, const Dims& in) {
  const Folding folding(y, w);
  if (!is_batched(w)) return folding.unfolded(plain_input(folding.folded(y, 0), w, setting, in), 0);
  if (!is_batched(y) && setting.groups == 1)
    return folding.unfolded(plain_input(y, folding.folded(w, 1), setting, in), 1);
  return folding.unfolded(plain_input(folding.folded(y, 1), folding.folded(w, 0), folding.grouped(setting), in), 1);
}

Tensor batched_weight(const Tensor& x, const Tensor& y, const ConvSetting& setting, const Dims& kernel) {
  const Folding folding(x, y);
  if (!is_batched(x) && setting.groups == 1)
    return folding.unfolded(plain_weight(x, folding.folded(y, 1), setting, kernel), 0);
  if (!is_batched(y) && setting.groups == 1)
    return folding.unfolded(plain_weight(folding.folded(x, 1), y, setting, kernel), 1);
  return folding.unfolded(plain_weight(folding.folded(x, 1), folding.folded(y, 1), folding.grouped(setting), kernel),
                          0);
}

// ---- recorded; see Note [Convolution]

struct OutputLayer : OperatorLayer<OutputLayer> {
  static std::string name_of(const Context& ctx) { return static_cast<const char*>(ctx.tag); }

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& w, const std::optional<Tensor>& bias,
                        const ConvSetting& setting) {
    ctx.tag = setting.op;
    save_with<ConvSetting>(ctx, setting, x, w);
    if (is_batched(x) || is_batched(w) || (bias && is_batched(*bias))) [[unlikely]] {
      // Contiguous, as an unbatched call makes it: whether a later reshape is a view must not depend on vmap.
      const Tensor y = contiguous(batched_output(x, w, setting));
      return bias ? add(y, along_channels(*bias, x.ndim() - 2)) : y;
    }
    return plain_output(x, w, bias, setting);
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const auto [x, w] = ctx.saved_tensors<2>();
    const ConvSetting& setting = ctx.state<ConvSetting>();
    const auto& edges = ctx.node()->edges();
    TensorList grads(edges.size());
    if (autograd::is_needed(edges[0])) grads[0] = conv_input(dy, w, setting, spatial_sizes(x));
    if (autograd::is_needed(edges[1])) {
      Tensor examples = x;
      Tensor example_grads = dy;
      dead_axes_to_rows(examples, example_grads, w->hidden.get());
      grads[1] = conv_weight(examples, example_grads, setting, spatial_sizes(w));
    }
    if (edges.size() > 2 && autograd::is_needed(edges[2])) {
      Dims axes{0};
      for (std::size_t i = 2; i < dy.ndim(); ++i) axes.push_back(static_cast<std::int64_t>(i));
      // Half precision is summed in float32, because the sum is long.
      grads[2] = cast(sum(cast(dy, promote_types(dy.dtype(), DType::Float32)), axes), dy.dtype());
    }
    return grads;
  }
  /// conv(dx, w) + conv(x, dw) + dbias
  static Tensor jvp(Context& ctx, const TensorList& tangents) {
    const auto [x, w] = ctx.saved_tensors<2>();
    const ConvSetting& setting = ctx.state<ConvSetting>();
    Tensor total;
    const auto add_part = [&](Tensor part) { total = total.defined() ? add(total, part) : std::move(part); };
    if (tangents[0].defined()) add_part(conv_output(tangents[0], w, {}, setting));
    if (tangents[1].defined()) add_part(conv_output(x, tangents[1], {}, setting));
    if (tangents.size() > 2 && tangents[2].defined()) {
      const Dims out = conv_sizes(spatial_sizes(x), spatial_sizes(w), setting);
      add_part(broadcast_to(along_channels(tangents[2], out.size()), shape_of(x.shape()[0], w.shape()[0], out)));
    }
    return total;
  }
};

struct InputLayer : OperatorLayer<InputLayer> {
  static constexpr bool kMultilinear = true;
  static std::string name_of(const Context& ctx) { return static_cast<const char*>(ctx.tag); }

  static Tensor forward(Context& ctx, const Tensor& y, const Tensor& w, const ConvSetting& setting, const Dims& in) {
    ctx.tag = setting.op;
    save_with<ConvSetting>(ctx, setting, y, w);
    if (is_batched(y) || is_batched(w)) [[unlikely]]
      return batched_input(y, w, setting, in);
    return plain_input(y, w, setting, in);
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& dx) {
    const auto [y, w] = ctx.saved_tensors<2>();
    const ConvSetting& setting = ctx.state<ConvSetting>();
    const auto& edges = ctx.node()->edges();
    std::array<Tensor, 2> grads;
    if (autograd::is_needed(edges[0])) grads[0] = conv_output(dx, w, {}, setting);
    if (autograd::is_needed(edges[1])) {
      Tensor examples = dx;
      Tensor example_results = y;
      dead_axes_to_rows(examples, example_results, w->hidden.get());
      grads[1] = conv_weight(examples, example_results, setting, spatial_sizes(w));
    }
    return grads;
  }
};

struct WeightLayer : OperatorLayer<WeightLayer> {
  static constexpr bool kMultilinear = true;
  static std::string name_of(const Context& ctx) { return static_cast<const char*>(ctx.tag); }

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& y, const ConvSetting& setting,
                        const Dims& kernel) {
    ctx.tag = setting.op;
    save_with<ConvSetting>(ctx, setting, x, y);
    if (is_batched(x) || is_batched(y)) [[unlikely]]
      return batched_weight(x, y, setting, kernel);
    return plain_weight(x, y, setting, kernel);
  }
  static std::array<Tensor, 2> backward(Context& ctx, const Tensor& dw) {
    const auto [x, y] = ctx.saved_tensors<2>();
    const ConvSetting& setting = ctx.state<ConvSetting>();
    const auto& edges = ctx.node()->edges();
    std::array<Tensor, 2> grads;
    if (autograd::is_needed(edges[0])) grads[0] = conv_input(y, dw, setting, spatial_sizes(x));
    if (autograd::is_needed(edges[1])) grads[1] = conv_output(x, dw, {}, setting);
    return grads;
  }
};

}  // namespace

Dims conv_sizes(const Dims& in, const Dims& kernel, const ConvSetting& setting) {
  Dims out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::int64_t reach = setting.dilation[i] * (kernel[i] - 1) + 1;
    out.push_back((in[i] + setting.pad_low[i] + setting.pad_high[i] - reach) / setting.stride[i] + 1);
  }
  return out;
}

Tensor conv_output(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                   const ConvSetting& setting) {
  return OutputLayer::apply(x, weight, bias, setting);
}

Tensor conv_input(const Tensor& y, const Tensor& weight, const ConvSetting& setting, const Dims& in) {
  return InputLayer::apply(y, weight, setting, in);
}

Tensor conv_weight(const Tensor& x, const Tensor& y, const ConvSetting& setting, const Dims& kernel) {
  return WeightLayer::apply(x, y, setting, kernel);
}

}  // namespace lamella
