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
/// Returns a text such as "[2, 3]", for messages.
std::string to_string(DimsView dims);

/// Returns the number of elements; throws ValueError if a size is negative or the product overflows 63 bits.
std::int64_t count_elements(DimsView shape);
/// Returns row-major strides, in elements.
Dims contiguous_strides(DimsView shape);
/// Writes row-major strides to `strides`.
void set_contiguous_strides(DimsView shape, Dims& strides);
/// True if the strides are row-major; axes of size 1 do not matter, and an empty tensor is contiguous.
bool is_contiguous(DimsView shape, DimsView strides);
/// True if two elements share memory: an axis was broadcast, or windows overlap. Exact; false for an empty tensor.
bool overlaps_itself(DimsView shape, DimsView strides);

/// Returns the common shape of two operands by numpy's broadcasting rules; throws ValueError that names `what` if there
/// is none.
Dims broadcast_shapes(DimsView a, DimsView b, std::string_view what);
/// True if `from` broadcasts to exactly `to`.
bool broadcasts_to(DimsView from, DimsView to);
/// Returns `axis` counted from the front; throws IndexError that names `what` if it is outside of [-ndim, ndim).
std::int64_t normalize_axis(std::int64_t axis, std::size_t ndim, std::string_view what);

}  // namespace lamella
