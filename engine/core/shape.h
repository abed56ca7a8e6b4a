#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string_view>

#include "engine/core/small_vector.h"

namespace lamella {

/// Sizes or strides, one per axis. Up to five axes need no allocation.
using Dims = SmallVector<std::int64_t, 5>;
using DimsView = std::span<const std::int64_t>;

std::ostream& operator<<(std::ostream& out, const Dims& dims);
/// "[2, 3]", for messages.
std::string to_string(DimsView dims);

/// Number of elements; raises ValueError where a size is negative or the product overflows 63 bits.
std::int64_t count_elements(DimsView shape);
/// Row-major strides, in elements.
Dims contiguous_strides(DimsView shape);
/// The same, written to `strides`.
void set_contiguous_strides(DimsView shape, Dims& strides);
/// Whether the strides are row-major; axes of size 1 do not count, and an empty tensor is contiguous.
bool is_contiguous(DimsView shape, DimsView strides);
/// True if two elements share memory: an axis was broadcast, or windows overlap. Exact; an empty tensor has none.
bool overlaps_itself(DimsView shape, DimsView strides);

/// The common shape of two operands by numpy's broadcasting rules; ValueError naming `what` where there is none.
Dims broadcast_shapes(DimsView a, DimsView b, std::string_view what);
/// Whether `from` broadcasts to exactly `to`.
bool broadcasts_to(DimsView from, DimsView to);
/// `axis` counted from the front; IndexError naming `what` where it is outside [-ndim, ndim).
std::int64_t normalize_axis(std::int64_t axis, std::size_t ndim, std::string_view what);

}  // namespace lamella
