#pragma once

#include <optional>

#include "engine/core/tensor.h"

namespace lamella {

/// Returns the strides under which x's elements, in row-major order, have the given shape without a copy, or nothing if
/// there are none. The number of elements must agree.
std::optional<Dims> strides_for_shape(const Tensor& x, DimsView shape);

}  // namespace lamella
