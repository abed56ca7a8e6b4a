#pragma once

#include <span>

#include "ops/elementwise/elementwise.h"
#include "ops/support/strided_loop.h"

namespace lamella {

/// Computes `out = kernel(operands)`; each operand broadcasts to out's shape. `operands` are those that the kernel
/// reads, in order. Throws NotImplementedError if the device or dtype has no kernel.
void launch_elementwise(const ElementwiseOp& op, int wrt, std::span<const Tensor* const> operands, const Tensor& out,
                        DType dtype);
/// True if there is a kernel for the gradient of input `wrt`; otherwise the formula is run on tensors.
bool has_fused_backward(const ElementwiseOp& op, int wrt);

}  // namespace lamella
