#pragma once

#include <span>

#include "ops/elementwise/elementwise.h"

namespace lamella::extension {

/// Implements DeviceKernels::elementwise for an extension's device.
void launch(const ElementwiseOp& op, int wrt, std::span<const Tensor* const> operands, const Tensor& out, DType dtype);

}  // namespace lamella::extension
