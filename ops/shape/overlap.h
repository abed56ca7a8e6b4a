#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// The transpose of sliding_window() along a last axis of `length` elements: each is the sum of those of x, [..,
/// windows, size], that windows `step` apart show of it, in the order of the windows.
Tensor overlap_add(const Tensor& x, std::int64_t step, std::int64_t length);

}  // namespace lamella
