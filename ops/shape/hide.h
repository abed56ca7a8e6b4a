#pragma once

#include "engine/core/tensor.h"

namespace lamella {

// What vmap does with the axis that it maps over. Recorded; each is the other's adjoint.

/// A view of x in which its axis 0 is hidden at `level`. RuntimeError where x hides one at this level already.
Tensor hide_axis(const Tensor& x, std::uint64_t level);
/// The same for any axis; IndexError where there is no such axis.
Tensor hide_axis(const Tensor& x, std::int64_t axis, std::uint64_t level);
/// A view of x with the axis that `level` hides as its axis 0; broadcast to `size` where x hides none.
Tensor show_axis(const Tensor& x, std::uint64_t level, std::int64_t size);
/// x summed over the axis that `level` hides.
Tensor sum_hidden(const Tensor& x, std::uint64_t level);
/// A view of x whose axis `from` stands at `to`; IndexError where there is no such axis.
Tensor move_axis(const Tensor& x, std::int64_t from, std::int64_t to, const char* op);

}  // namespace lamella
