#include "ops/shape/reshape.h"

#include "ops/movement/cast.h"
#include "ops/shape/view.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

/// Returns `shape` with a -1 replaced by the size that remains.
Dims complete_shape(const Tensor& x, const Dims& shape) {
  Dims result = shape;
  std::int64_t known = 1;
  std::int64_t* unknown = nullptr;
  for (std::int64_t& size : result) {
    if (size == -1 && !unknown) {
      unknown = &size;
    } else if (size < 0) {
      fail<ValueError>("[reshape] shape ", shape, size == -1 ? " has more than one -1" : " has a negative size");
    } else if (__builtin_mul_overflow(known, size, &known)) {
      fail<ValueError>("[reshape] shape ", shape, " has more elements than fit into 63 bits");
    }
  }
  if (unknown && known > 0 && x.numel() % known == 0) {
    *unknown = x.numel() / known;
    known = x.numel();
  }
  if (known != x.numel() || (unknown && *unknown == -1)) {
    fail<ValueError>("[reshape] a tensor of shape ", x.shape(), " cannot take the shape ", shape);
  }
  return result;
}

/// Returns a view of x in the new shape if its strides allow, else a contiguous copy. The gradient is reshaped to x's
/// shape.
struct ReshapeLayer : LinearOperatorLayer<ReshapeLayer> {
  static constexpr std::string_view name = "reshape";

  static Tensor forward(Context& ctx, const Tensor& x, const Dims& shape) {
    if (ctx.recording()) ctx.input_metas.emplace_back(x);
    if (const auto strides = strides_for_shape(x, shape)) return make_view(x, shape, *strides);
    Tensor out = empty_beside(x, shape, x.dtype(), x.device());
    write_values(make_view(out, x.shape(), contiguous_strides(x.shape())), x, "reshape");
    return out;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) { return reshape(dy, ctx.input_metas[0].shape); }
};

}  // namespace

Tensor Reshape::call(const Tensor& x, const Dims& shape, std::optional<bool> copy) {
  check_defined(x, "reshape");
  const Dims complete = complete_shape(x, shape);
  if (!copy) return ReshapeLayer::apply(x, complete);
  if (*copy) return ReshapeLayer::apply(clone(x), complete);
  if (!strides_for_shape(x, complete)) {
    fail<ValueError>("[reshape] copy=False, but a tensor of shape ", x.shape(), " and strides ", x.strides(),
                     " cannot take the shape ", complete, " without a copy");
  }
  return ReshapeLayer::apply(x, complete);
}

Tensor Flatten::call(const Tensor& x, std::int64_t start_axis, std::int64_t stop_axis) {
  check_defined(x, "flatten");
  if (x.ndim() == 0) {
    normalize_axis(start_axis, 1, "flatten");
    normalize_axis(stop_axis, 1, "flatten");
    return ReshapeLayer::apply(x, Dims{1});
  }
  const std::int64_t start = normalize_axis(start_axis, x.ndim(), "flatten");
  const std::int64_t stop = normalize_axis(stop_axis, x.ndim(), "flatten");
  if (start > stop) fail<ValueError>("[flatten] start_axis ", start_axis, " comes after stop_axis ", stop_axis);
  Dims shape;
  std::int64_t merged = 1;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.ndim()); ++i) {
    const std::int64_t size = x.shape()[static_cast<std::size_t>(i)];
    if (i < start || i > stop) {
      shape.push_back(size);
    } else {
      merged *= size;
      if (i == stop) shape.push_back(merged);
    }
  }
  return ReshapeLayer::apply(x, shape);
}

Tensor Squeeze::call(const Tensor& x, const std::optional<Dims>& axis) {
  check_defined(x, "squeeze");
  const Dims named = axis ? normalize_axes(axis, x.ndim(), "squeeze") : Dims{};
  Dims shape;
  for (std::size_t i = 0; i < x.ndim(); ++i) {
    const std::int64_t size = x.shape()[i];
    const bool asked = std::ranges::find(named, static_cast<std::int64_t>(i)) != named.end();
    if (asked && size != 1)
      fail<ValueError>("[squeeze] axis ", i, " of shape ", x.shape(), " has size ", size, ", not 1");
    if (!asked && (axis || size != 1)) shape.push_back(size);
  }
  return ReshapeLayer::apply(x, shape);
}

Tensor ExpandDims::call(const Tensor& x, const Dims& axis) {
  check_defined(x, "expand_dims");
  const Dims added = normalize_axes(axis, x.ndim() + axis.size(), "expand_dims");
  Dims shape = x.shape();
  for (const std::int64_t at : added) shape.insert(shape.begin() + at, 1);
  return ReshapeLayer::apply(x, shape);
}

}  // namespace lamella
