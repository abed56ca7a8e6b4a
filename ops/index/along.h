#pragma once

#include "engine/core/tensor.h"
#include "ops/index/loops.h"

namespace lamella {

// gather() and its transposes once their arguments are checked: `index` is int64 and has the shape of the picked
// values, at most x's but along the axis; its numbers are in range. No tensor is 0-d.

/// result[..., i, ...] = x[..., index[..., i, ...], ...], recorded.
Tensor gather_along(const Tensor& x, const Tensor& index, std::size_t axis);
/// The same for an index that is not checked, with what index_along() does in the same pass.
Tensor gather_checked(const Tensor& x, const Tensor& index, std::int64_t axis, const char* op, bool from_end);
/// The transpose: values added to zeros of the given shape, in the order along the axis. Recorded.
Tensor place_along(const Tensor& values, const Tensor& index, std::size_t axis, const Dims& shape);
/// x[..., index[..., i, ...], ...] (action) values[..., i, ...] for each i in turn, in place and off the tape. `values`
/// has x's dtype and shares no memory with it.
void scatter_along(PickAction action, const Tensor& x, const Tensor& index, std::size_t axis, const Tensor& values);
/// What gather_along() gives, but 0 where a value is not the last that a scatter by this index writes to its element.
/// Recorded.
Tensor gather_last(const Tensor& x, const Tensor& index, std::size_t axis);

/// The index of a gather or a scatter, checked against x: int64 on x's device. IndexError where a number is out of
/// range, ValueError where the shape does not fit, TypeError for other dtypes.
Tensor index_along(const Tensor& x, const Tensor& index, std::int64_t axis, const char* op, bool from_end);

}  // namespace lamella
