#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// Returns the transpose of sliding_window() along a last axis of `length` elements: each result is the sum of the
/// elements of x, [.., windows, size], whose windows, `step` apart, cover it, in the order of the windows.
Tensor overlap_add(const Tensor& x, std::int64_t step, std::int64_t length);

}  // namespace lamella
