#pragma once

#include <optional>

#include "engine/core/tensor.h"

namespace lamella {

/// Another tensor on x's memory, as a view op gives it: noted on the storage where x is on a tape, because an in-place
/// change would then have to change the history of both.
Tensor view_of(const Tensor& x, DimsView shape, DimsView strides, std::int64_t offset = 0);

/// Strides under which x's elements, in row-major order, have the given shape without a copy; nothing where there are
/// none. The number of elements must agree.
std::optional<Dims> strides_for_shape(const Tensor& x, DimsView shape);

}  // namespace lamella
