#include "ops/nn/activation.h"

#include <algorithm>
#include <array>

#include "engine/autograd/tangents/duals.h"
#include "engine/core/modes.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/launch.h"
#include "ops/elementwise/rectifiers.h"
#include "ops/elementwise/sigmoid.h"
#include "ops/extension/extension.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/unfollowed.h"

namespace lamella {
namespace {

/// Writes both halves of the gradient directly into dx; as separate operators they would be joined afterwards.
struct GluFn : OperatorLayer<GluFn> {
  static constexpr std::string_view name = "glu";

  static Tensor forward(Context& ctx, const Tensor& x, std::int64_t axis) {
    const std::vector<Tensor> halves = split(x, 2, axis);
    const Tensor gates = sigmoid(halves[1]);
    save_with<std::int64_t>(ctx, axis, x, gates);
    return halves[0] * gates;
  }

  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x, gates] = ctx.saved_tensors<2>();
    const std::int64_t axis = ctx.state<std::int64_t>();
    const std::vector<Tensor> halves = split(x, 2, axis);
    const Tensor operands[] = {x, gates, dy};
    if (autograd::is_grad_enabled() || autograd::any_dual(operands) ||
        std::ranges::any_of(operands, [](const Tensor& each) { return is_batched(each); })) {
      return concat({dy * sigmoid(halves[1]), dy * halves[0] * sigmoid_slope(halves[1])}, axis);
    }
    const Tensor dx = empty(x.shape(), x.dtype(), x.device());
    const std::vector<Tensor> parts = split(dx, 2, axis);
    const auto& multiplication = elementwise_op<Multiply>();
    launch_elementwise(multiplication, -1, std::array{&dy, &gates}, parts[0], x.dtype());
    launch_elementwise(multiplication, -1, std::array{&dy, &halves[0]}, parts[1], x.dtype());
    launch_elementwise(elementwise_op<Sigmoid>(), 0, std::array{&halves[1], &gates, &parts[1]}, parts[1], x.dtype());
    return dx;
  }
};

}  // namespace

Tensor Relu6::call(const Tensor& x) {
  check_defined(x, info.name);
  return is_integral(x.dtype()) ? clip(x, Scalar(0), Scalar(6)) : hardtanh(x, 0.0, 6.0);
}

Tensor Prelu::call(const Tensor& x, const Tensor& weight) {
  check_defined(x, info.name);
  check_defined(weight, info.name);
  if (weight.numel() == 1 && weight.ndim() <= 1) return leaky_relu(x, reshape(weight, Dims{}));
  const std::int64_t channels = x.ndim() == 0 ? 1 : x.shape()[x.ndim() == 1 ? 0 : 1];
  if (weight.ndim() != 1 || weight.numel() != channels) {
    fail<ValueError>("[prelu] weight must have one element, or one for each of the ", channels,
                     " channels of x; got the shape ", weight.shape(), " for x of shape ", x.shape());
  }
  Dims shape(std::max<std::size_t>(x.ndim(), 2) - 1, 1);
  shape[0] = channels;
  return leaky_relu(x, reshape(weight, shape));
}

Tensor Glu::call(const Tensor& x, std::int64_t axis) {
  check_defined(x, info.name);
  if (x.ndim() == 0) fail<ValueError>("[glu] x needs an axis to be halved along, got a 0-d tensor");
  const std::int64_t at = normalize_axis(axis, x.ndim(), info.name);
  const std::int64_t size = x.size(at);
  if (size % 2 != 0) fail<ValueError>("[glu] the size of axis ", at, " must be even, got ", size);
  const Tensor* const inputs[] = {&x};
  if (is_floating(x.dtype()) && autograd::should_record(inputs) && !autograd::any_dual(std::span(&x, 1)) &&
      !is_batched(x) && !is_extension(x.device()))
    return GluFn::apply(x, at);
  // A single node makes both halves, so that their gradients are joined once.
  const std::vector<Tensor> halves = split(x, 2, at);
  Tensor gates = sigmoid(halves[1]);
  const std::array<const Tensor*, 2> factors{&halves[0], &gates};
  if (halves[0].dtype() != gates.dtype() || !is_unfollowed(factors)) return halves[0] * gates;
  launch_elementwise(elementwise_op<Multiply>(), -1, factors, gates, gates.dtype());
  autograd::note_derived(factors, gates);
  return gates;
}

}  // namespace lamella
