#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/operand.h"

namespace lamella {

/// start:stop:step, as in Python.
struct Slice {
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> stop;
  std::int64_t step = 1;
};
/// `...`: as many whole axes as are missing.
struct Ellipsis {};
/// `None`: a new axis of size 1.
struct NewAxis {};

/// One part of x[a, b, ...]: an integer, a slice, an ellipsis, a new axis, or a tensor of integers or bools.
using IndexItem = std::variant<std::int64_t, Slice, Ellipsis, NewAxis, Tensor>;
using IndexItems = std::vector<IndexItem>;

/// x[items], with numpy's meaning. Integers, slices, `...` and None give a view. With a tensor among the items the
/// result is a copy: tensors of integers (and plain integers beside them) are broadcast together and pick elements, a
/// bool tensor picks where it is true; the picked axes stand where the tensors stood if those are neighbors, and in
/// front otherwise. Gradients of elements picked several times are summed, in the order of the picks.
///
/// IndexError for too many items and for an index out of range, naming the index, the axis and its size; TypeError for
/// a tensor that is neither integer nor bool.
Tensor index(const Tensor& x, const IndexItems& items);

/// x[items] = value: writes in place, value broadcast and cast. Of elements picked several times the last pick counts.
/// Recorded where x or value wants a gradient; RuntimeError for a leaf that does, as for every in-place operator.
void set_index(const Tensor& x, const IndexItems& items, const Operand& value);

/// A new tensor, x with value (broadcast, of x's dtype) added to the elements that x[items] picks, to one picked
/// several times in the order of the picks. Recorded.
Tensor add_at_index(const Tensor& x, const IndexItems& items, const Tensor& value);
/// A copy of x, recorded, to be written to: it has room for what the others hide.
Tensor copy_with_room(const Tensor& x, std::span<const Tensor* const> others);

}  // namespace lamella
