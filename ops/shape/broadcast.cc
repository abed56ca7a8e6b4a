#include "ops/shape/broadcast.h"

#include "engine/autograd/graph/primitives.h"
#include "ops/support/checks.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

struct BroadcastLayer : LinearOperatorLayer<BroadcastLayer> {
  static constexpr std::string_view name = "broadcast_to";

  static Tensor forward(Context& ctx, const Tensor& x, const Dims& shape) {
    if (ctx.recording()) ctx.input_metas.emplace_back(x);
    const std::size_t added = shape.size() - x.ndim();
    Dims strides(shape.size(), 0);
    for (std::size_t i = 0; i < x.ndim(); ++i) {
      if (x.shape()[i] != 1) strides[added + i] = x.strides()[i];
    }
    return make_view(x, shape, strides);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    return autograd::primitives().sum_to(dy, ctx.input_metas[0].shape);
  }
};

}  // namespace

Tensor BroadcastTo::call(const Tensor& x, const Dims& shape) {
  check_defined(x, "broadcast_to");
  count_elements(shape);
  if (x.shape() == shape) return x;
  if (!broadcasts_to(x.shape(), shape))
    fail<ValueError>("[broadcast_to] shape ", x.shape(), " does not broadcast to ", shape);
  return BroadcastLayer::apply(x, shape);
}

}  // namespace lamella
