#pragma once

#include <span>

#include "engine/core/tensor.h"

namespace lamella {

/// Returns a new tensor of `shape` for the result of `operands`. Its axes are ordered in memory like those of the first
/// operand with this shape, so that a transposed operand is read and written sequentially.
Tensor empty_in_order(std::span<const Tensor* const> operands, DimsView shape, DType dtype, Device device);

}  // namespace lamella
