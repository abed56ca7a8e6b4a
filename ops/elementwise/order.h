#pragma once

#include <span>

#include "engine/core/tensor.h"

namespace lamella {

/// A new tensor of `shape` for the result of `operands`. Its axes lie in memory in the order of those of the first
/// operand that has this shape: then a transposed operand is read and written in one run, not across it.
Tensor empty_in_order(std::span<const Tensor* const> operands, DimsView shape, DType dtype, Device device);

}  // namespace lamella
