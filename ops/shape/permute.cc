#include "ops/shape/permute.h"

#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

Dims inverse(const Dims& axes) {
  Dims result(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    result[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
  return result;
}

struct PermuteLayer : LinearOperatorLayer<PermuteLayer> {
  static constexpr std::string_view name = "permute_dims";

  static Tensor forward(Context& ctx, const Tensor& x, const Dims& axes) {
    if (ctx.recording()) {
      TensorMeta& meta = ctx.input_metas.emplace_back();
      meta.shape = axes;
    }
    Dims shape(x.ndim());
    Dims strides(x.ndim());
    for (std::size_t i = 0; i < x.ndim(); ++i) {
      shape[i] = x.shape()[static_cast<std::size_t>(axes[i])];
      strides[i] = x.strides()[static_cast<std::size_t>(axes[i])];
    }
    return make_view(x, shape, strides);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) { return apply(dy, inverse(ctx.input_metas[0].shape)); }
};

Dims identity(std::size_t ndim) {
  Dims axes(ndim);
  for (std::size_t i = 0; i < ndim; ++i) axes[i] = static_cast<std::int64_t>(i);
  return axes;
}

}  // namespace

Tensor PermuteDims::call(const Tensor& x, const Dims& axes) {
  check_defined(x, "permute_dims");
  if (axes.size() != x.ndim()) {
    fail<ValueError>("[permute_dims] axes ", axes, " do not name every axis of shape ", x.shape(), " once");
  }
  normalize_axes(axes, x.ndim(), "permute_dims");
  Dims order = axes;
  for (std::int64_t& axis : order) axis = normalize_axis(axis, x.ndim(), "permute_dims");
  return PermuteLayer::apply(x, order);
}

Tensor MatrixTranspose::call(const Tensor& x) {
  check_defined(x, "matrix_transpose");
  if (x.ndim() < 2) fail<ValueError>("[matrix_transpose] needs at least two axes, got shape ", x.shape());
  return swapaxes(x, -2, -1);
}

Tensor SwapAxes::call(const Tensor& x, std::int64_t axis1, std::int64_t axis2) {
  check_defined(x, "swapaxes");
  if (x.ndim() == 0) {
    normalize_axis_or_scalar(x, axis1, "swapaxes");
    normalize_axis_or_scalar(x, axis2, "swapaxes");
    return x;
  }
  Dims axes = identity(x.ndim());
  const auto a = static_cast<std::size_t>(normalize_axis(axis1, x.ndim(), "swapaxes"));
  const auto b = static_cast<std::size_t>(normalize_axis(axis2, x.ndim(), "swapaxes"));
  std::swap(axes[a], axes[b]);
  return PermuteLayer::apply(x, axes);
}

Tensor reverse_axes(const Tensor& x) {
  check_defined(x, "T");
  Dims axes = identity(x.ndim());
  std::ranges::reverse(axes);
  return PermuteLayer::apply(x, axes);
}

}  // namespace lamella
