#pragma once

#include "engine/core/tensor.h"

namespace lamella {

// Operations of vmap on the axis that it maps over. Recorded; hiding and showing are adjoint to each other.

/// Returns a view of x whose axis 0 is hidden at `level`. Throws RuntimeError if x hides an axis at this level already.
Tensor hide_axis(const Tensor& x, std::uint64_t level);
/// Returns a view of x with the given axis hidden at `level`; throws IndexError if there is no such axis.
Tensor hide_axis(const Tensor& x, std::int64_t axis, std::uint64_t level);
/// Returns a view of x with the axis hidden at `level` as its axis 0, or broadcast to `size` if x hides none.
Tensor show_axis(const Tensor& x, std::uint64_t level, std::int64_t size);
/// Returns a view of x with axis `from` moved to position `to`; throws IndexError if there is no such axis.
Tensor move_axis(const Tensor& x, std::int64_t from, std::int64_t to, const char* op);

/// Turns hidden axes of vmap calls that have ended, unless they are in `own` (may be null), into rows of a and b. A
/// gradient that sums over the first axis of both then needs no separate sum over the examples. Recorded on the tape.
void dead_axes_to_rows(Tensor& a, Tensor& b, const HiddenAxes* own);

}  // namespace lamella
