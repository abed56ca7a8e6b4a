#pragma once

#include <span>
#include <vector>

#include "ops/transforms/options.h"

namespace lamella::autograd::detail {

/// Implements jacobian(vectorize=True): returns for each input the derivatives of all elements of `output`,
/// Implements gradcheck(check_batched_grad=True): checks that a batched backward pass gives the results of one pass per

}  // namespace lamella::autograd::detail
