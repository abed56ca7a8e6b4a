#include "ops/shape/broadcast.h"

#include "engine/autograd/layers/function.h"
#include "ops/reduce/sum.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"

namespace lamella {
namespace {

struct BroadcastLayer : Function<BroadcastLayer> {
  static constexpr bool kChecksGradients = false;
  static constexpr bool kLinear = true;
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
  static Tensor backward(Context& ctx, const Tensor& dy) { return sum_to(dy, ctx.input_metas[0].shape); }
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

}  // namespace lamella
