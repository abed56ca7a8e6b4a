#include "ops/nn/activation.h"

#include <array>

#include "ops/elementwise/launch.h"
#include "ops/elementwise/list.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/unfollowed.h"

namespace lamella {

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
  // One layer makes both halves, so that their gradients are joined once.
  const std::vector<Tensor> halves = split(x, 2, at);
  Tensor gates = sigmoid(halves[1]);
  const std::array<const Tensor*, 2> factors{&halves[0], &gates};
  if (halves[0].dtype() != gates.dtype() || !is_unfollowed(factors)) return halves[0] * gates;
  launch_elementwise(elementwise_op<Multiply>(), -1, factors, gates, gates.dtype());
  autograd::note_derived(factors, gates);
  return gates;
}

}  // namespace lamella
