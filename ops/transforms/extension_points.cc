#include "ops/transforms/extension_points.h"

#include "engine/core/error.h"

namespace lamella::autograd::extension_points {

std::vector<Tensor> batched_rows(const Tensor&, std::span<const Tensor>, bool) {
  fail<NotImplementedError>(
      "[jacobian] vectorize=True needs batched gradients, which this version does not have; leave it out to compute "
      "row by row");
}

GradcheckResult check_batched_gradients(const TensorFunction&, std::span<const Tensor>, const GradcheckOptions&) {
  fail<NotImplementedError>(
      "[gradcheck] check_batched_grad=True needs batched gradients, which this version does not have");
}

}  // namespace lamella::autograd::extension_points
