#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// Whether an element of a bool tensor may be true: false where a look at host memory says that none is, true where a
/// look would take a copy from a device, or the elements are those of many examples (vmap).
bool may_hold(const Tensor& mask);

}  // namespace lamella
