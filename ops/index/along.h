#pragma once

#include "engine/core/tensor.h"
#include "ops/index/loops.h"

namespace lamella {

// gather() and its transposes with checked arguments: `index` is int64, its numbers are in range, and its shape is that
// of the picked values, which is at most x's except along the axis. No tensor is 0-d.

/// Returns result[..., i, ...] = x[..., index[..., i, ...], ...]; recorded.
Tensor gather_along(const Tensor& x, const Tensor& index, std::size_t axis);
/// Returns gather_along() for an unchecked index, applying the checks of index_along() in the same pass.
Tensor gather_checked(const Tensor& x, const Tensor& index, std::int64_t axis, const char* op, bool from_end);
/// Returns the transpose of gather_along(): zeros of the given shape to which the values are added, in the order along
/// the axis. Recorded.
Tensor place_along(const Tensor& values, const Tensor& index, std::size_t axis, const Dims& shape);
/// Applies `action` to x[..., index[..., i, ...], ...] and values[..., i, ...] for each i in order; in place and off
/// the tape. `values` has x's dtype and shares no memory with x.
void scatter_along(PickAction action, const Tensor& x, const Tensor& index, std::size_t axis, const Tensor& values);
/// Returns gather_along() with 0 where a value is not the last one that a scatter by this index writes to its element.
/// Recorded.
Tensor gather_last(const Tensor& x, const Tensor& index, std::size_t axis);

/// Returns the index of a gather or a scatter as int64 on x's device, checked against x. Throws IndexError if a number
/// is out of range, ValueError if the shape does not fit, TypeError if the dtype is not an integer dtype.
Tensor index_along(const Tensor& x, const Tensor& index, std::int64_t axis, const char* op, bool from_end);

}  // namespace lamella
