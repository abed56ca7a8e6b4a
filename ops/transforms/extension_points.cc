#include "ops/transforms/extension_points.h"

#include "engine/core/error.h"

namespace lamella::autograd::extension_points {

std::vector<Tensor> batched_rows(const Tensor&, std::span<const Tensor>, bool) {
  fail<NotImplementedError>(
      "[jacobian] vectorize=True needs batched gradients, which this version does not have; leave it out to compute "
      "row by row");
}

std::vector<std::vector<Tensor>> forward_jacobian(const TensorFunction&, std::span<const Tensor>,
                                                  const JacobianOptions&) {
  fail<NotImplementedError>(
      "[jacobian] strategy='forward-mode' needs forward-mode differentiation, which this version does not have; use "
      "'reverse-mode'");
}

GradcheckResult check_batched_gradients(const TensorFunction&, std::span<const Tensor>, const GradcheckOptions&) {
  fail<NotImplementedError>(
      "[gradcheck] check_batched_grad=True needs batched gradients, which this version does not have");
}

GradcheckResult check_forward_derivatives(const TensorFunction&, std::span<const Tensor>, const GradcheckOptions&) {
  fail<NotImplementedError>(
      "[gradcheck] check_forward_ad=True needs forward-mode differentiation, which this version does not have");
}

}  // namespace lamella::autograd::extension_points
