#include "ops/reduce/extremum.h"

#include "engine/autograd/trace/departure.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/logical.h"
#include "ops/elementwise/predicates.h"
#include "ops/movement/cast.h"
#include "ops/reduce/may_hold.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/sum.h"
#include "ops/shape/reshape.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

using cpu::Reduction;

/// dx = dy / k for each of the k elements that equal the extremum, 0 for the others.
struct ExtremumLayer : OperatorLayer<ExtremumLayer> {
  static std::string name_of(const Context& ctx) { return static_cast<const OpInfo*>(ctx.tag)->name; }

  static Tensor forward(Context& ctx, const Tensor& x, const OpInfo* info, Reduction reduction, const Dims& axes,
                        bool keepdims) {
    Tensor y = reduce(reduction, x, axes, keepdims, info->name);
    ctx.tag = info;
    if (ctx.recording()) {
      ctx.save_for_backward(x, y);
      remember_axes(ctx, x, axes);
      ctx.output_metas.emplace_back(y);
    }
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [chosen, count] = choice(ctx);
    return multiply(chosen, divide(with_reduced_axes(ctx, dy), count));
  }
  static Tensor jvp(Context& ctx, const Tensor& dx) {
    const auto [chosen, count] = choice(ctx);
    const Tensor mean = divide(sum(multiply(chosen, dx), reduced_axes(ctx), true), count);
    return reshape(mean, ctx.output_metas[0].shape);
  }

 private:
  static Dims reduced_axes(const Context& ctx) {
    Dims axes;
    for (std::size_t i = 0; i < ctx.input_metas[0].shape.size(); ++i) {
      if (ctx.input_metas[1].shape[i] != ctx.input_metas[0].shape[i]) axes.push_back(static_cast<std::int64_t>(i));
    }
    return axes;
  }
  /// Returns a mask (1 where an element is the extremum, 0 elsewhere) and the number of such elements per result.
  static std::pair<Tensor, Tensor> choice(const Context& ctx) {
    const auto [x, y] = ctx.saved_tensors<2>();
    const Tensor equal_ones = equal(x, with_reduced_axes(ctx, y));
    // An extremum of NaN comes from a NaN element, which does not compare equal to it.
    const bool may_be_nan = is_floating(x.dtype()) && may_hold(isnan(y));
    const Tensor chosen = cast(may_be_nan ? logical_or(equal_ones, isnan(x)) : equal_ones, x.dtype());
    return {chosen, sum(chosen, reduced_axes(ctx), true)};
  }
};

Tensor extremum(const OpInfo& info, Reduction reduction, const Tensor& x, const std::optional<Dims>& axis,
                bool keepdims) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  return ExtremumLayer::apply(x, &info, reduction, normalize_axes_or_scalar(x, axis, info.name), keepdims);
}

/// Records that y is a result without a gradient, so that x's gradient ends there.
Tensor constant(const OpInfo& info, const Tensor& x, Tensor y) {
  if (autograd::is_tracing()) [[unlikely]] {
    const Tensor* const inputs[] = {&x};
    autograd::note_departure(info.name, inputs, y);
  }
  return y;
}

Tensor position(const OpInfo& info, Reduction reduction, const Tensor& x, std::optional<std::int64_t> axis,
                bool keepdims) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  const autograd::NoGrad no_grad;
  const bool narrow = is_half(x.dtype());
  const Tensor values = narrow ? cast(x, DType::Float32) : x.dtype() == DType::Bool ? cast(x, DType::UInt8) : x;
  if (axis) {
    const Dims axes = normalize_axes_or_scalar(x, Dims{*axis}, info.name);
    return constant(info, x, reduce(reduction, values, axes, keepdims, info.name));
  }
  const Tensor y = reduce(reduction, reshape(values, {-1}), {0}, false, info.name);
  return constant(info, x, keepdims ? reshape(y, Dims(x.ndim(), 1)) : y);
}

Tensor truth(const OpInfo& info, Reduction reduction, const Tensor& x, const std::optional<Dims>& axis, bool keepdims) {
  check_defined(x, info.name);
  return constant(info, x, reduce(reduction, x, normalize_axes_or_scalar(x, axis, info.name), keepdims, info.name));
}

}  // namespace

Tensor CountNonzero::call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims) {
  return truth(info, Reduction::Count, x, axis, keepdims);
}
Tensor Max::call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims) {
  return extremum(info, Reduction::Max, x, axis, keepdims);
}
Tensor Min::call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims) {
  return extremum(info, Reduction::Min, x, axis, keepdims);
}
Tensor ArgMax::call(const Tensor& x, std::optional<std::int64_t> axis, bool keepdims) {
  return position(info, Reduction::ArgMax, x, axis, keepdims);
}
Tensor ArgMin::call(const Tensor& x, std::optional<std::int64_t> axis, bool keepdims) {
  return position(info, Reduction::ArgMin, x, axis, keepdims);
}
Tensor Any::call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims) {
  return truth(info, Reduction::Any, x, axis, keepdims);
}
Tensor All::call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims) {
  return truth(info, Reduction::All, x, axis, keepdims);
}

}  // namespace lamella
