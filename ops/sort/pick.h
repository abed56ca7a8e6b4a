#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// The elements of x at `positions` along an axis: y[..., i, ...] = x[..., positions[..., i, ...], ...]. The shapes are
/// alike but for the axis, and the positions (int64) lie in range: for positions that an operator found itself. Of 0-d
/// tensors, x. Its gradient is place_along, and the other way round.
Tensor pick_along(const Tensor& x, const Tensor& positions, std::int64_t axis, const char* op);
/// The transpose of pick_along: zeros, n of them along the axis, to which x's elements are added at `positions`.
Tensor place_along(const Tensor& x, const Tensor& positions, std::int64_t axis, std::int64_t n, const char* op);

}  // namespace lamella
