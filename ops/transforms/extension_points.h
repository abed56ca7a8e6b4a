#pragma once

#include <span>
#include <vector>

#include "ops/transforms/functional.h"
#include "ops/transforms/gradcheck.h"

// Where batched passes and forward-mode differentiation plug in: one function for each use, called nowhere else. Until
// the engine has batched passes, what needs them is a NotImplementedError that names the option.

namespace lamella::autograd::extension_points {

/// jacobian(vectorize=True): for each input, the derivatives of all of `output`'s elements, [output.numel(), *input
/// shape], by one pass over a batch of one-hot gradients; undefined for an input that `output` does not depend on.
std::vector<Tensor> batched_rows(const Tensor& output, std::span<const Tensor> inputs, bool create_graph);

/// jacobian(strategy="forward-mode"): the whole Jacobian, column by column, as jacobian() returns it.
std::vector<std::vector<Tensor>> forward_jacobian(const TensorFunction& func, std::span<const Tensor> inputs,
                                                  const JacobianOptions& options);

/// gradcheck(check_batched_grad=True): whether a batched backward pass gives the same as one pass for each gradient.
GradcheckResult check_batched_gradients(const TensorFunction& func, std::span<const Tensor> inputs,
                                        const GradcheckOptions& options);

/// gradcheck(check_forward_ad=True): whether forward-mode derivatives agree with differences.
GradcheckResult check_forward_derivatives(const TensorFunction& func, std::span<const Tensor> inputs,
                                          const GradcheckOptions& options);

}  // namespace lamella::autograd::extension_points
