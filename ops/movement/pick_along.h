#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// Returns the elements of x at `positions` along an axis: y[..., i, ...] = x[..., positions[..., i, ...], ...]. The
/// shapes are equal except for the axis, and the positions (int64) must be in range: for positions that an operator
/// computed itself. A 0-d x is returned unchanged. Its gradient is place_along(), and vice versa.
Tensor pick_along(const Tensor& x, const Tensor& positions, std::int64_t axis, const char* op);
/// Returns the transpose of pick_along(): zeros, n of them along the axis, with x's elements added at `positions`.
Tensor place_along(const Tensor& x, const Tensor& positions, std::int64_t axis, std::int64_t n, const char* op);

}  // namespace lamella
