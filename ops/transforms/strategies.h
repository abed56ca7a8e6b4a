#pragma once

#include <span>
#include <vector>

#include "ops/transforms/functional.h"
#include "ops/transforms/gradcheck.h"

// The parts of jacobian() and gradcheck() that use batched passes (batched.cc) and forward mode (forward.cc).

namespace lamella::autograd::detail {

/// Implements jacobian(vectorize=True): returns for each input the derivatives of all elements of `output`,
/// [output.numel(), *input shape], by one pass over a batch of one-hot gradients; undefined for an input that `output`
/// does not depend on.
std::vector<Tensor> batched_rows(const Tensor& output, std::span<const Tensor> inputs, bool create_graph);

/// Implements jacobian(strategy="forward-mode"): returns the whole Jacobian, computed column by column.
std::vector<std::vector<Tensor>> forward_jacobian(const TensorFunction& func, std::span<const Tensor> inputs,
                                                  const JacobianOptions& options);

/// Implements gradcheck(check_batched_grad=True): checks that a batched backward pass gives the results of one pass per
/// gradient.
GradcheckResult check_batched_gradients(const TensorFunction& func, std::span<const Tensor> inputs,
                                        const GradcheckOptions& options);

/// Implements gradcheck(check_forward_ad=True): checks that forward-mode derivatives agree with differences.
GradcheckResult check_forward_derivatives(const TensorFunction& func, std::span<const Tensor> inputs,
                                          const GradcheckOptions& options);

}  // namespace lamella::autograd::detail
