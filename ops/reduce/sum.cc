#include "ops/reduce/sum.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/square.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/reduce/accumulation.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/reshape.h"
#include "ops/support/along.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

/// dx = dy, broadcast. 16-bit floats are summed in float32, and the result may keep that dtype.
struct SumLayer : LinearOperatorLayer<SumLayer> {
  static constexpr std::string_view name = "sum";

  static Tensor forward(Context& ctx, const Tensor& x, const Dims& axes, bool keepdims, std::optional<DType> dtype) {
    remember_axes(ctx, x, axes);
    return reduce(cpu::Reduction::Sum, x, axes, keepdims, "sum", dtype);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) { return spread(ctx, cast(dy, ctx.input_metas[0].dtype)); }
};

/// dx = 2 x dy. The squares of 16-bit floats are summed in float32, and the result may keep that dtype.
struct SquareSumLayer : OperatorLayer<SquareSumLayer> {
  static constexpr std::string_view name = "square_sum";

  static Tensor forward(Context& ctx, const Tensor& x, const Dims& axes, bool keepdims, std::optional<DType> dtype) {
    remember_axes(ctx, x, axes);
    if (ctx.recording()) ctx.save_for_backward(x);
    return reduce(cpu::Reduction::SquareSum, x, axes, keepdims, "square_sum", dtype);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x] = ctx.saved_tensors<1>();
    return cast(multiply(cast(x, dy.dtype()), multiply(with_reduced_axes(ctx, dy), 2)), x.dtype());
  }
};

Tensor sum_of(const Tensor& x, const Dims& axes, bool keepdims, std::optional<DType> dtype = std::nullopt) {
  return SumLayer::apply(x, axes, keepdims, dtype);
}

}  // namespace

Tensor in_accumulation_dtype(const Tensor& x, std::optional<DType> dtype) {
  const bool cast_first = dtype && (dtype == DType::Bool || is_differentiable(*dtype) || is_differentiable(x.dtype()));
  return cast_first ? cast(x, *dtype) : x;
}

Tensor Sum::call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims, std::optional<DType> dtype) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Sum>(x, axis, keepdims, dtype);
  check_defined(x, "sum");
  const Dims axes = normalize_axes_or_scalar(x, axis, "sum");
  if (dtype == DType::Float32 && is_half(x.dtype())) return sum_of(x, axes, keepdims, dtype);
  const Tensor y = sum_of(in_accumulation_dtype(x, dtype), axes, keepdims);
  return dtype ? cast(y, *dtype) : y;
}

Tensor Mean::call(const Tensor& x, const std::optional<Dims>& axis, bool keepdims) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Mean>(x, axis, keepdims);
  if (x.defined() && is_wide_integer(x.dtype()))
    return cast(call(cast(x, DType::Float64), axis, keepdims), kDefaultFloat);
  const Tensor values = as_inexact(x, "mean");
  const Dims axes = normalize_axes_or_scalar(values, axis, "mean");
  double n = 1;
  for (const std::int64_t a : axes) n *= static_cast<double>(values.shape()[static_cast<std::size_t>(a)]);
  // Divides before rounding: the sum of many 16-bit floats may exceed their range.
  if (is_half(x.dtype())) return cast(divide(sum_of(values, axes, keepdims, DType::Float32), n), x.dtype());
  return divide(sum_of(values, axes, keepdims), n);
}

Tensor SumTo::call(const Tensor& x, const Dims& shape) {
  check_defined(x, "sum_to");
  if (x.shape() == shape) return x;
  if (!broadcasts_to(shape, x.shape()))
    fail<ValueError>("[sum_to] shape ", shape, " does not broadcast to ", x.shape());
  const std::size_t added = x.ndim() - shape.size();
  Dims axes;
  for (std::size_t i = 0; i < x.ndim(); ++i) {
    if (i < added || (shape[i - added] == 1 && x.shape()[i] != 1)) axes.push_back(static_cast<std::int64_t>(i));
  }
  return reshape(sum(x, axes), shape);
}

Tensor square_sum(const Tensor& x, const std::optional<Dims>& axis, bool keepdims, std::optional<DType> dtype) {
  if (is_extension(x.device()))  // composed of operators for which the extension may have kernels
    return sum(square(dtype ? cast(x, *dtype) : x), axis, keepdims);
  return SquareSumLayer::apply(x, normalize_axes_or_scalar(x, axis, "square_sum"), keepdims, dtype);
}

}  // namespace lamella
