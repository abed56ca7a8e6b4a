#pragma once

#include <span>
#include <vector>

#include "ops/transforms/options.h"

namespace lamella::autograd::detail {

/// Implements jacobian(vectorize=True): returns for each input the derivatives of all elements of `output`,
/// [output.numel(), *input shape], by one pass over a batch of one-hot gradients; undefined for an input that `output`
/// does not depend on.
std::vector<Tensor> batched_rows(const Tensor& output, std::span<const Tensor> inputs, bool create_graph);

/// Implements gradcheck(check_batched_grad=True): checks that a batched backward pass gives the results of one pass per
/// gradient.
GradcheckResult check_batched_gradients(const TensorFunction& func, std::span<const Tensor> inputs,
                                        const GradcheckOptions& options);

}  // namespace lamella::autograd::detail
