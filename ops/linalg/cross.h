#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// Returns the cross products of vectors on the CPU in one pass. The axis, of size 3, is counted from the end; the
/// dtypes are numeric.
Tensor cross_on_cpu(const Tensor& x1, const Tensor& x2, std::int64_t axis);

}  // namespace lamella
