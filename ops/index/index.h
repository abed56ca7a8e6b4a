#pragma once

#include "engine/core/tensor.h"
#include "ops/operand.h"
#include "ops/shape/region.h"

namespace lamella {

/// Returns x[items], as numpy defines it. Integers, slices, `...` and None give a view. With a tensor among the items
/// the result is a copy: tensors of integers (and plain integers beside them) are broadcast together and pick elements;
/// a bool tensor picks where it is true. The picked axes replace the tensors if those are neighbors, and come first
/// otherwise. Gradients of elements picked several times are summed in the order of the picks.
///
/// Throws IndexError for too many items and for an index out of range, naming the index, the axis and its size;
/// TypeError for a tensor that is neither integer nor bool.
Tensor index(const Tensor& x, const IndexItems& items);

/// Computes x[items] = value in place; value is broadcast and cast. The last of several picks of an element counts.
/// Recorded if x or value requires a gradient; throws RuntimeError if x is a leaf that requires one, as every in-place
/// operator does.
void set_index(const Tensor& x, const IndexItems& items, const Operand& value);

/// Returns a copy of x with value (broadcast, of x's dtype) added to the elements that x[items] picks; to an element
/// picked several times in the order of the picks. Recorded.
Tensor add_at_index(const Tensor& x, const IndexItems& items, const Tensor& value);
/// Returns a copy of x to write to, which also hides the axes that the others hide; recorded.
Tensor copy_with_room(const Tensor& x, std::span<const Tensor* const> others);

}  // namespace lamella
