#pragma once

#include <cstdint>

#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Has the base of a dual's memory remember the dual's tangent, which it has not itself. A view of the dual is, to the
/// tape, a view of that base: a write through it takes the rest of the dual's tangent from there.
void lend_tangent(const Tensor& dual, std::uint64_t level);

}  // namespace lamella::autograd
