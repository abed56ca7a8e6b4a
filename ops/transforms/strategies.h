#pragma once

#include <span>
#include <vector>

#include "ops/transforms/functional.h"
#include "ops/transforms/gradcheck.h"

// What jacobian() and gradcheck() do by batched passes (batched.cc) and in forward mode (forward.cc).

namespace lamella::autograd::detail {

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

}  // namespace lamella::autograd::detail
