#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// Returns false if host memory shows that no element of a bool tensor is true. Returns true without a look if the
/// tensor is on a device, which would need a copy, or is batched (vmap).
bool may_hold(const Tensor& mask);

}  // namespace lamella
