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
/// Returns x summed over the axis hidden at `level`.
Tensor sum_hidden(const Tensor& x, std::uint64_t level);
/// Returns a view of x with axis `from` moved to position `to`; throws IndexError if there is no such axis.
Tensor move_axis(const Tensor& x, std::int64_t from, std::int64_t to, const char* op);

}  // namespace lamella
