#pragma once

#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Makes `to`, a new leaf, want a gradient where the leaf `from` does, and moves from's gradient and hooks to it. A
/// gradient of another shape, dtype or device is dropped. Passes through what was computed from `from` bring their
/// gradients to `to`. Throws RuntimeError where `from` is the result of a recorded operation, or wants a gradient and
/// to's dtype has none.
void hand_over(const Tensor& from, const Tensor& to);

}  // namespace lamella::autograd
