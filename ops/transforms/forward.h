#pragma once

#include <span>
#include <vector>

#include "ops/transforms/options.h"

namespace lamella::autograd::detail {

/// Implements jacobian(strategy="forward-mode"): returns the whole Jacobian, computed column by column.
std::vector<std::vector<Tensor>> forward_jacobian(const TensorFunction& func, std::span<const Tensor> inputs,
                                                  const JacobianOptions& options);

/// Implements gradcheck(check_forward_ad=True): checks that forward-mode derivatives agree with differences.
GradcheckResult check_forward_derivatives(const TensorFunction& func, std::span<const Tensor> inputs,
                                          const GradcheckOptions& options);

}  // namespace lamella::autograd::detail
